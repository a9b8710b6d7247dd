"""What the follower tells of the chain while it happens."""

import contextlib
import itertools
import json
import socket
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58encode
from chain.transaction_errors import transaction_error_json
from chain.units import Slot
from ingest.event_publisher import Branches, ChainEvents, EventPublisher, LiveUpdate
from priority.chain_events import (
    BLOCKHASHES,
    CHAIN_EVENTS_STREAM,
    FIELD,
    HEAD,
    BlockMade,
    ChainEvent,
    Seen,
    SlotMoved,
)
from priority.lander.store.chain_events import publish_events, unpack
from shared_state.redis_client import client
from tests.ingest.following import follower
from tests.ingest.test_node_follower import following as following_node
from tests.localnet.wallets import SOL, landed, on_a_nonce, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.priority.odd_nodes import odd_node
from upstream.geyser.updates import SlotUpdate, TransactionUpdate
from upstream.protobuf.geyser_pb2 import SlotStatus

NOW = 1_750_000_000.0


def told() -> list[ChainEvent]:
    entries: list[tuple[bytes, dict[bytes, bytes]]] = client().xrange(CHAIN_EVENTS_STREAM)  # type: ignore[assignment]
    return [each for _, fields in entries for each in unpack(fields[FIELD.encode()])]


def moves(status: str) -> list[int]:
    return [each.slot for each in told() if isinstance(each, SlotMoved) and each.status == status]


def places(signature: str) -> list[tuple[int, int, object]]:
    """Every (slot, index, err) that was told of the transaction."""
    wanted = bytes(Signature.from_string(signature))
    found: list[tuple[int, int, object]] = []
    for each in told():
        if isinstance(each, Seen):
            for place, index in enumerate(each.indexes):
                if each.signatures[64 * place : 64 * place + 64] == wanted:
                    err = each.errors.get(place)
                    found.append(
                        (each.slot, index, None if err is None else transaction_error_json(err))
                    )
    return found


def head() -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = client().hgetall(HEAD)  # type: ignore[assignment]
    return found


def blockhashes() -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = client().hgetall(BLOCKHASHES)  # type: ignore[assignment]
    return found


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=10) as running:
        yield running


def a_payment_and_a_failure(localnet: Localnet) -> tuple[str, str]:
    payer = wallet(localnet)
    payment = signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer)
    failure = signed(localnet, [pay(payer, Pubkey.new_unique(), 99 * SOL)], payer)
    return send(localnet, payment), send(localnet, failure, skipPreflight=True)


def is_told_as_localnet_says(localnet: Localnet, signature: str) -> None:
    status = landed(localnet, signature)
    block = localnet.call(
        "getBlock", status["slot"], {"transactionDetails": "signatures", "rewards": False}
    )
    place = (status["slot"], block["signatures"].index(signature), status["err"])
    # On a dead fork it may have had another one before.
    wait(lambda: place in places(signature), f"{signature} told")
    assert places(signature)[-1] == place
    made = BlockMade(
        status["slot"],
        block["parentSlot"],
        bytes(Hash.from_string(block["blockhash"])),
        block["blockHeight"],
    )
    # A block's message may follow its transactions.
    wait(lambda: made in told(), "the slot's block told")
    assert [each for each in told() if isinstance(each, BlockMade) and each.slot == made.slot][
        -1
    ] == made
    wait(lambda: status["slot"] in moves("finalized"), "the slot told finalized")


@pytest.mark.django_db(transaction=True)
def test_the_stream_is_told_as_it_happens(empty_redis: None, localnet: Localnet) -> None:
    with follower(localnet.geyser_url, localnet.url):
        # The slot in which it joins began before.
        wait(lambda: moves("began"), "a slot told as begun")
        for signature in a_payment_and_a_failure(localnet):
            is_told_as_localnet_says(localnet, signature)
            slot = places(signature)[-1][0]
            ways = [
                each.status for each in told() if isinstance(each, SlotMoved) and each.slot == slot
            ]
            assert ways == ["began", "processed", "confirmed", "finalized"]
        newest = localnet.call("getLatestBlockhash")["value"]
        hashed = bytes(Hash.from_string(newest["blockhash"]))
        height = str(newest["lastValidBlockHeight"] - 150).encode()
        wait(lambda: blockhashes().get(hashed) == height, "the newest final blockhash")
        slot = localnet.call("getSlot", {"commitment": "processed"})
        wait(lambda: int(head()[b"slot"]) >= slot, "the head")
        told_head = head()
        localnet.wait_for_slot(int(told_head[b"slot"]))
        block = localnet.call("getBlock", int(told_head[b"slot"]), {"transactionDetails": "none"})
        assert int(told_head[b"height"]) == block["blockHeight"]


@pytest.mark.django_db(transaction=True)
def test_a_fork_is_told_dead_and_what_it_held_is_told_again(
    empty_redis: None, localnet: Localnet
) -> None:
    payer = wallet(localnet)
    with follower(localnet.geyser_url, localnet.url):
        wait(lambda: moves("processed"), "the stream")
        # A fork that lasts until all has been seen of it, and maybe longer than a blockhash.
        payment = on_a_nonce(localnet, payer)
        localnet.call("setFaults", {"forkSlots": 1_000})
        try:
            wait(lambda: localnet.call("getFaults")["forkSlots"] <= 998, "on the fork")
            signature = send(localnet, payment, skipPreflight=True)
            wait(lambda: places(signature), "told on the fork")
        finally:
            localnet.call("setFaults", {"forkSlots": 1})
        is_told_as_localnet_says(localnet, signature)
        first = places(signature)[0][0]
        assert first in moves("dead")
        assert first not in moves("confirmed")
        # Of a fork's slots the stream calls only the last one dead; the others are left behind.
        assert set(moves("dead")) & set(moves("processed"))


@pytest.mark.django_db(transaction=True)
def test_a_node_without_a_stream_is_told_once_blocks_are_final(
    empty_redis: None, localnet: Localnet
) -> None:
    with following_node(localnet.url):
        wait(lambda: moves("finalized"), "the first block")
        for signature in a_payment_and_a_failure(localnet):
            is_told_as_localnet_says(localnet, signature)
    assert int(head()[b"slot"]) == max(moves("finalized"))
    assert not moves("processed")


@contextlib.contextmanager
def forgetful_node(localnet: Localnet) -> Iterator[str]:
    """localnet's node, whose blocks have no status of the transactions that failed."""

    def answer(body: bytes) -> tuple[int, bytes]:
        request = urllib.request.Request(
            localnet.url, body, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request) as response:
            found = json.load(response)
        block = found.get("result")
        for each in block.get("transactions", ()) if isinstance(block, dict) else ():
            if each["meta"]["err"] is not None:
                each["meta"] = None
        return 200, json.dumps(found).encode()

    with odd_node(answer) as node:
        yield node.url


@pytest.mark.django_db(transaction=True)
def test_an_unknown_outcome_is_not_told(empty_redis: None, localnet: Localnet) -> None:
    with forgetful_node(localnet) as url, following_node(url):
        wait(lambda: moves("finalized"), "the first block")
        _, failure = a_payment_and_a_failure(localnet)
        slot = landed(localnet, failure)["slot"]
        payment, _ = a_payment_and_a_failure(localnet)
        is_told_as_localnet_says(localnet, payment)
        wait(lambda: slot in moves("finalized"), "the failure's block")
    assert not places(failure)


def block(slot: int, height: int | None) -> BlockMade:
    return BlockMade(slot, slot - 1, slot.to_bytes(32, "big"), height)


def test_the_head_is_the_newest_block_whatever_is_replayed(empty_redis: None) -> None:
    publish_events([block(10, 5), block(11, 6)], now=NOW)
    publish_events([block(9, 4)], now=NOW + 9)
    assert head() == {
        b"slot": b"11",
        b"height": b"6",
        b"blockhash": b58encode((11).to_bytes(32, "big")).encode(),
        b"at": str(NOW).encode(),
    }
    publish_events([block(12, None)], now=NOW + 1)
    assert (head()[b"slot"], head()[b"height"]) == (b"12", b"")


def test_the_newest_blockhashes_are_known_and_old_ones_are_not(empty_redis: None) -> None:
    for first in range(1, 3_001, 50):
        publish_events([block(slot + 7, slot) for slot in range(first, first + 50)], now=NOW)
    heights = sorted(map(int, blockhashes().values()))
    assert heights[-2_000:] == list(range(1_001, 3_001))
    assert len(heights) < 2_100


def status(slot: int, status: int, parent: int | None = None) -> SlotUpdate:
    return SlotUpdate(Slot(slot), None if parent is None else Slot(parent), status)


def transaction(
    slot: int, index: int, *, error: bytes = b"", vote: bool = False
) -> TransactionUpdate:
    signature = slot.to_bytes(32, "big") + index.to_bytes(32, "big")
    return TransactionUpdate(Slot(slot), index, signature, (), None, b"", (), error, vote)


def test_transactions_of_a_slot_go_together_and_votes_not_at_all() -> None:
    words = ChainEvents()
    good, bad = transaction(5, 1), transaction(5, 2, error=b"\4\0\0\0")
    heard: list[LiveUpdate] = [
        transaction(5, 0, vote=True),
        good,
        transaction(6, 0),
        bad,
        status(5, SlotStatus.SLOT_PROCESSED, 4),
        transaction(6, 1),
    ]
    first, second, moved, third = words.of(heard)
    assert isinstance(first, Seen) and isinstance(second, Seen) and isinstance(third, Seen)
    assert (first.slot, first.indexes, first.errors) == (5, [1, 2], {1: b"\4\0\0\0"})
    assert first.signatures == good.signature + bad.signature
    assert (second.slot, second.indexes) == (6, [0])
    assert moved == SlotMoved(5, "processed")
    assert (third.slot, third.indexes) == (6, [1])


def test_a_silent_redis_is_told_the_newest_afterwards_and_nobody_waits(
    empty_redis: None, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    publisher, url = EventPublisher(), settings.REDIS_URL
    slots = itertools.count(1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        publisher.start()
        try:
            # When a slot begins is of no use later.
            publisher.add(status(next(slots), SlotStatus.SLOT_FIRST_SHRED_RECEIVED))
            wait(lambda: "are not published" in caplog.text, "a warning in the log")
            # Whoever waited for Redis here would never come to the end of them.
            for index in range(50_000):
                publisher.add(transaction(next(slots), index))
            publisher.add(status(kept := next(slots), SlotStatus.SLOT_DEAD))
            settings.REDIS_URL = url

            def told_again() -> bool:
                publisher.add(transaction(next(slots), 0))
                return "publishing again" in caplog.text

            wait(told_again, "a word that it goes on")
            wait(lambda: kept in moves("dead"), "the dead slot told")
            assert not moves("began")
            last = next(slots)

            def last_is_told() -> bool:
                publisher.add(transaction(last, 0))
                return last in [each.slot for each in told() if isinstance(each, Seen)]

            wait(last_is_told, "the last one told")
        finally:
            settings.REDIS_URL = url
            publisher.stop()
    # Of this silence: Redis itself may be slow afterwards.
    assert caplog.text.partition("publishing again")[0].count("are not published") == 1


@given(data=st.data())
def test_a_branch_leaves_out_what_is_no_ancestor(data: st.DataObject) -> None:
    """Against a plain tree of slots; the chain confirms one descendant after the other."""
    branches, parents = Branches(), {0: -1}
    seen, confirmed, decided = {0}, 0, {0}

    def line(slot: int) -> set[int]:
        return set() if slot < 0 else {slot} | line(parents[slot])

    for slot in range(1, data.draw(st.integers(2, 25))):
        possible = [each for each in parents if confirmed in line(each)]
        parents[slot] = data.draw(st.sampled_from(possible))
        branches.saw(slot, None)
        branches.saw(slot, parents[slot])
        seen.add(slot)
        if data.draw(st.booleans()):
            confirmed = data.draw(
                st.sampled_from([each for each in parents if confirmed in line(each)])
            )
            below = {each for each in seen if each <= confirmed}
            assert branches.decide(confirmed) == sorted(below - line(confirmed) - decided)
            decided |= below


def test_unknown_parents_leave_nobody_out() -> None:
    branches = Branches()
    for slot, parent in [(3, None), (4, 3), (6, 5), (7, 6)]:
        branches.saw(slot, parent)
    assert branches.decide(7) == []
    assert branches.decide(4) == []
