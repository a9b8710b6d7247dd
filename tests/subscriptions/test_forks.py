"""Forks that the chain leaves: what each commitment notifies, by WebSocket and gRPC."""

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature

from tests.examples import examples
from tests.ingest.following import wait
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import Served
from tests.yellowstone.conftest import Geyser, Request, serving_geyser
from upstream.protobuf import geyser_pb2 as schema

LEVELS = ("processed", "confirmed", "finalized")
Seen = tuple[int, int]
END = 500 * SOL


@pytest.fixture
def geyser(served: Served) -> Iterator[Geyser]:
    with serving_geyser() as port:
        found = Geyser(port, served.localnet, served.key)
        wait(found.is_fed, "hearing of the chain")
        yield found


def written(localnet: Localnet, account: Pubkey, slots: list[int]) -> list[Seen]:
    """(slot, lamports) of the account's last write in each of the slots that wrote it."""
    found = []
    for slot in slots:
        own = [
            each["lamports"]
            for each in localnet.call("getAccountWrites", slot)
            if each["pubkey"] == str(account)
        ]
        found += [(slot, own[-1])] if own else []
    return found


class Watch(threading.Thread):
    """What comes of the account at a level, until its balance is that of the end."""

    def __init__(self, messages: Iterator[tuple[str, int, Any]]) -> None:
        super().__init__(daemon=True)
        self._messages = messages
        self.accounts: list[Seen] = []
        self.signatures: list[tuple[int, str]] = []
        self.start()

    def run(self) -> None:
        for kind, slot, value in self._messages:
            if kind == "signature":
                self.signatures.append((slot, value))
                continue
            self.accounts.append((slot, value))
            if value >= END:
                return

    def up_to(self, slot: int) -> tuple[list[Seen], list[tuple[int, str]]]:
        """Its accounts and signatures in the slots, once the end has come."""
        self.join(PATIENCE_SECONDS)
        assert not self.is_alive()
        return (
            [each for each in self.accounts if each[0] <= slot],
            [each for each in self.signatures if each[0] <= slot],
        )


def by_websocket(
    stack: ExitStack, served: Served, level: str, account: Pubkey, **begins: int
) -> Iterator[tuple[str, int, Any]]:
    socket = stack.enter_context(served.socket())
    config = {"commitment": level, **begins}
    number = socket.call("accountSubscribe", str(account), {**config, "encoding": "base64"})
    socket.call("logsSubscribe", {"mentions": [str(account)]}, config)

    def read() -> Iterator[tuple[str, int, Any]]:
        while True:
            params = socket.receive()["params"]
            slot, value = params["result"]["context"]["slot"], params["result"]["value"]
            if params["subscription"] == number:
                yield "account", slot, value["lamports"]
            else:
                yield "signature", slot, value["signature"]

    return read()


def with_memory(
    stack: ExitStack, served: Served, level: str, account: Pubkey
) -> Iterator[tuple[str, int, Any]]:
    return by_websocket(stack, served, level, account, fromSlot=5)


def by_grpc(
    stack: ExitStack, geyser: Geyser, level: str, account: Pubkey
) -> Iterator[tuple[str, int, Any]]:
    request = Request(
        accounts={"a": {"account": [str(account)]}},
        transactions={"t": {"account_include": [str(account)]}},
        slots={"s": {"filter_by_commitment": True}},
        commitment=schema.CommitmentLevel.Value(level.upper()),
    )
    stream = stack.enter_context(geyser.subscribed(request))
    updates = iter(stream)
    next(updates)

    def read() -> Iterator[tuple[str, int, Any]]:
        for each in updates:
            if each.HasField("account"):
                yield "account", each.account.slot, each.account.account.lamports
            elif each.HasField("transaction"):
                name = str(Signature(each.transaction.transaction.signature))
                yield "signature", each.transaction.slot, name

    return read()


@pytest.mark.parametrize("seed", range(examples(3)))
def test_only_processed_hears_of_what_the_chain_left(
    served: Served, geyser: Geyser, seed: int
) -> None:
    localnet, chance = served.localnet, random.Random(seed)
    payer, account = wallet(localnet, 1_000 * SOL), Pubkey.new_unique()

    def paid(lamports: int) -> str:
        transaction = signed(localnet, [pay(payer, account, lamports)], payer)
        return send(localnet, transaction, skipPreflight=True)

    ways: list[tuple[str, Any, Any]] = [
        ("websocket", by_websocket, served),
        ("memory", with_memory, served),
        ("grpc", by_grpc, geyser),
    ]
    with ExitStack() as stack:
        watches = {
            (way, level): Watch(begin(stack, where, level, account))
            for way, begin, where in ways
            for level in LEVELS
        }
        first = localnet.call("getSlot", {"commitment": "processed"})
        for number in range(40):
            if chance.random() < 0.25:
                faults = {"forkSlots": chance.randint(1, 6), "skipSlots": chance.randint(0, 1)}
                localnet.call("setFaults", faults)
            sent = paid(SOL + number)
            if chance.random() < 0.5:
                landed(localnet, sent, chance.choice(["processed", "confirmed"]))
        localnet.call("setFaults", {"forkSlots": 0, "skipSlots": 0})
        last = landed(localnet, sent, "finalized")["slot"]
        landed(localnet, paid(END), "finalized")
        found = {each: watch.up_to(last) for each, watch in watches.items()}
    chain = localnet.call("getBlocks", first, last, {"commitment": "finalized"})
    wanted = written(localnet, account, chain)
    config = {"transactionDetails": "full", "maxSupportedTransactionVersion": 0, "rewards": False}
    places = [
        (slot, each["transaction"]["signatures"][0])
        for slot in chain
        for each in localnet.call("getBlock", slot, config)["transactions"]
        if str(account) in each["transaction"]["message"]["accountKeys"]
    ]
    assert len(places) == 40
    for (way, level), (accounts, signatures) in found.items():
        assert len(set(accounts)) == len(accounts), (way, level)
        if level == "processed":
            accounts = [each for each in accounts if each[0] in chain]
            signatures = [each for each in signatures if each[0] in chain]
        assert accounts == wanted, (way, level)
        assert signatures == places, (way, level)
