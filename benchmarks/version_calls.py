"""The calls that two revisions are compared by: each table's requests, with a limited key."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from solders.transaction import VersionedTransaction

from benchmarks import read_chain, replay
from benchmarks.accept import transactions
from benchmarks.read_chain import ReadChain
from benchmarks.service import rpc_request
from benchmarks.tip_fetches import key_for_fetches, prepare_batches

_VERSIONS = {"maxSupportedTransactionVersion": 0}
_ACCEPTS = 60_000
_ACCEPTS_A_TURN = 10_000
_FATES = 300

# A balance, as any node gives it.
NODE_ANSWER = json.dumps(
    {"jsonrpc": "2.0", "result": {"context": {"slot": 301}, "value": 5_000}, "id": 0}
).encode()


@dataclass(slots=True)
class Table:
    """One call: what is sent to both sides, and to a floor that only gives the answers."""

    name: str
    title: str
    requests: list[bytes]
    # Of the next turn, where a request can be sent once.
    turn: Callable[[], Sequence[bytes]]
    floor_requests: list[bytes] = field(default_factory=list)


def prepare(names: Sequence[str]) -> tuple[ReadChain, list[Table]]:
    """The tables of the names, and the ledger that they read."""
    key = key_for_fetches()
    chain = read_chain.fill()
    if "tips" in names:
        prepare_batches()
    transfers = _archived() if {"account", "replay"} & {*names} else []
    makers: dict[str, Callable[[], tuple[str, list[bytes]]]] = {
        "getSlot": lambda: ("getSlot", [rpc_request(key, "getSlot", [])]),
        "block": lambda: (
            f"getTransaction, round robin in one block of {len(chain.block_signatures):,}",
            _transactions(key, chain.block_signatures),
        ),
        "random": lambda: (
            f"getTransaction, random among {chain.transactions:,}",
            _transactions(key, chain.signatures),
        ),
        "addresses": lambda: (
            "getSignaturesForAddress, the 100 newest of random addresses",
            [
                rpc_request(key, "getSignaturesForAddress", [each, {"limit": 100}])
                for each in chain.addresses
            ],
        ),
        "signatures": lambda: (
            "getBlock, signatures only",
            [
                rpc_request(
                    key,
                    "getBlock",
                    [chain.block, {"transactionDetails": "signatures", "rewards": False}],
                )
            ],
        ),
        "proxy": lambda: (
            "getBalance at `/`, passed on to a node",
            [rpc_request(key, "getBalance", ["1" * 32], path="/")],
        ),
        "accept": lambda: ("sendTransaction, each another one", _accepts(key)),
        "tips": lambda: ("GET fetchtipaddress", [_get(key, "/priority/fetchtipaddress")]),
        "account": lambda: (
            "getAccountInfo at a past slot",
            _past_accounts(key, transfers),
        ),
        "replay": lambda: (
            "simulateHistoricalTransaction at its own place",
            _replays(key, transfers),
        ),
        "fate": lambda: (
            "GET a submission's fate",
            [_get(key, f"/priority/fate/{each}") for each in _landed(key)],
        ),
    }
    return chain, [_table(name, *makers[name]()) for name in names]


def _table(name: str, title: str, requests: list[bytes]) -> Table:
    turn: Callable[[], Sequence[bytes]] = lambda: requests  # noqa: E731
    return Table(name, title, requests, _Accepting(requests) if name == "accept" else turn)


class _Accepting:
    """Each is accepted once: every turn has its own, of an emptied queue."""

    def __init__(self, requests: list[bytes]) -> None:
        self._requests = requests
        self._following = 0

    def __call__(self) -> Sequence[bytes]:
        from priority.submissions import ACCEPTED_STREAM
        from shared_state.redis_client import client

        client().delete(ACCEPTED_STREAM, *client().scan_iter("tidemark:landing:[cwql]*"))
        first = self._following
        self._following = (first + _ACCEPTS_A_TURN) % len(self._requests)
        return self._requests[first : first + _ACCEPTS_A_TURN]


def _transactions(key: str, signatures: Sequence[str]) -> list[bytes]:
    return [rpc_request(key, "getTransaction", [each, _VERSIONS]) for each in signatures]


def _accepts(key: str) -> list[bytes]:
    from django.conf import settings

    config = {"encoding": "base64", "skipPreflight": True}
    return [
        rpc_request(key, "sendTransaction", [each, config], path="/priority")
        for each in islice(transactions(settings.TIP_ADDRESSES[0]), _ACCEPTS)
    ]


def _archived() -> list[VersionedTransaction]:
    """Token transfers of some blocks, in ledger and archive."""
    with tempfile.TemporaryDirectory() as folder:
        records = replay.chain_of_transfers(Path(folder))
    replay.record(records)
    return [
        VersionedTransaction.from_bytes(each.wire)
        for block in records[2:]
        for each in block.transactions
    ]


def _past_accounts(key: str, transfers: Sequence[VersionedTransaction]) -> list[bytes]:
    return [
        rpc_request(
            key,
            "getAccountInfo",
            [str(account), {"slot": slot, "encoding": "base64"}],
            path="/rewind",
        )
        for each in transfers[: replay.TRANSFERS]
        for account in each.message.account_keys[:3]
        for slot in range(2, replay.BLOCKS)
    ]


def _replays(key: str, transfers: Sequence[VersionedTransaction]) -> list[bytes]:
    return [replay.replay_request(key, each, replay.at_its_place(each)) for each in transfers]


def _get(key: str, path: str) -> bytes:
    return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n").encode()


def _landed(secret: str) -> list[str]:
    from access.key_text import digest_of
    from access.models import ApiKey
    from tests.priority.submitted import landed

    key = ApiKey.objects.get(digest=digest_of(secret))
    return [str(landed(key, number).signature) for number in range(_FATES)]
