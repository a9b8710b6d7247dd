"""While no process wants what is in slots the live feed reads their statuses and blocks alone. Who
comes then misses nothing of what a feed that has read all along would send.
"""

import random
import time
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from livefeed.messages import Level
from livefeed.slots import SlotTracker
from tests.examples import examples
from tests.ingest.following import caught_up
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.patience import wait
from tests.subscriptions.conftest import Served
from tests.upstream.two_banks import FIRST, KINDS, ORDERS, Order, story
from upstream.geyser.assembly import Assembler
from upstream.geyser.updates import (
    BlockMetaUpdate,
    Ping,
    SlotUpdate,
    TransactionUpdate,
    Update,
    update_of,
)
from upstream.protobuf.geyser_pb2 import SlotStatus

PROCESSED = SlotStatus.SLOT_PROCESSED

# (slot, level, whether whole, blockhash, last writes, transactions)
Announced = tuple[int, Level, bool, str, frozenset[bytes], tuple[bytes, ...]]


def updates(order: Order) -> list[Update]:
    found = []
    for message in story(order).sent:
        update = update_of(message.SerializeToString())
        assert update is not None and not isinstance(update, Ping)
        found.append(update)
    return found


def announced(tracker: SlotTracker, now: float) -> list[Announced]:
    found = []
    for slot, level in tracker.steps(now):
        part = slot.best()
        ran = [part.transactions[index].packed for index in sorted(part.transactions)]
        writes = frozenset(each.packed for each in part.accounts.values())
        found.append((slot.number, level, slot.was_whole, part.blockhash, writes, tuple(ran)))
    return found


def in_the_middle(sent: list[Update]) -> list[int]:
    """Places behind a slot's status and its block, and before a transaction of it."""
    seen: dict[type, set[int]] = {SlotUpdate: set(), BlockMetaUpdate: set()}
    found = []
    for place, each in enumerate(sent):
        if isinstance(each, TransactionUpdate) and all(each.slot in it for it in seen.values()):
            found.append(place)
        elif isinstance(each, BlockMetaUpdate) or getattr(each, "status", -1) == PROCESSED:
            seen[type(each)].add(each.slot)
    return found


def by_slot(steps: Iterable[Announced]) -> list[Announced]:
    """Each slot's in their order."""
    return sorted(steps, key=lambda each: each[0])


@settings(max_examples=examples(100))
@given(ORDERS, st.booleans(), st.sampled_from([0, 20]), st.booleans(), st.floats(0, 0.99))
def test_who_comes_late_is_sent_what_a_feed_that_read_all_sends(
    order: Order, is_named: bool, disorder: int, in_middle: bool, when: float
) -> None:
    order = replace(order, named=frozenset(KINDS) if is_named else frozenset())
    sent = updates(replace(order, death="") if disorder else order)
    chance = random.Random(order.seed)
    order_of = {id(each): place + chance.random() * disorder for place, each in enumerate(sent)}
    sent.sort(key=lambda each: order_of[id(each)])
    # Above all in the middle of a slot that was called processed.
    places = in_the_middle(sent) if in_middle else list(range(len(sent)))
    begins = places[int(when * len(places))] if places else 0
    whole, light, assembler = SlotTracker(), SlotTracker(is_light=True), Assembler(begin=FIRST)
    before: list[Announced] = []
    expected: list[Announced] = []
    found: list[Announced] = []
    root = 0
    for number, update in enumerate(sent):
        now = number / 1_000
        if number == begins:
            root, held = assembler.held(0)
            light.fill(held, root, now, at=1.0)
        assembler.feed(update)
        whole.take(0, update, now, at=1.0)
        if not light.is_light or isinstance(update, SlotUpdate | BlockMetaUpdate):
            light.take(0, update, now, at=1.0)
        came = announced(whole, now)
        expected += came if number >= begins else []
        (found if number >= begins else before).extend(announced(light, now))
    # What misses something is announced some seconds later.
    expected += announced(whole, 10.0)
    found += announced(light, 10.0)
    # A feed that waited for the rest of a slot sends what others reached meanwhile later.
    said = {(slot, level) for slot, level, *_ in before}
    assert by_slot(each for each in found if each[:2] not in said) == by_slot(
        each for each in expected if each[:2] not in said and each[0] > root
    )
    for each in found:
        assert each in expected or not each[2]
    for each in expected:
        if each[0] > root and each[1] is Level.PROCESSED and each[2]:
            assert each in found
    assert light.newest == whole.newest


def test_what_came_before_anyone_subscribed_is_notified_when_it_is_final(served: Served) -> None:
    localnet = served.localnet
    payer, lamports = wallet(localnet), SOL // 100

    def is_notified() -> bool:
        """False if it was final before it was subscribed to."""
        payee = Pubkey.new_unique()
        transaction = signed(localnet, [pay(payer, payee, lamports)], payer)
        send(localnet, transaction)
        slot = landed(localnet, str(transaction.signatures[0]), "confirmed")["slot"]
        with served.socket() as socket:
            config = {"commitment": "finalized", "encoding": "base64"}
            number = socket.call("accountSubscribe", str(payee), config)
            if localnet.call("getSlot", {"commitment": "finalized"}) >= slot:
                return False
            result = socket.result(number)
        assert (result["context"]["slot"], result["value"]["lamports"]) == (slot, lamports)
        return True

    for _ in range(2):
        wait(is_notified, "one that was not final before it was subscribed to")


STAGES = ("sent", "processed", "confirmed", "finalized", "stored")


def assert_answered(served: Served, after: str) -> None:
    """Who subscribes to a signature when its transaction has reached the stage is answered."""
    localnet = served.localnet
    payer = wallet(localnet)
    transaction = signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer)
    signature = str(transaction.signatures[0])
    send(localnet, transaction)
    if after == "stored":
        landed(localnet, signature)
        caught_up(localnet)
    elif after != "sent":
        landed(localnet, signature, after)
    with served.socket() as socket:
        numbers = [
            socket.call("signatureSubscribe", signature, {"commitment": commitment})
            for commitment in ("processed", "confirmed", "finalized")
        ]
        slot = landed(localnet, signature, "processed")["slot"]
        for number in numbers:
            result = socket.result(number)
            assert result == {"context": {"slot": slot}, "value": {"err": None}}


def test_a_signature_is_answered_however_late_the_first_subscription_comes(served: Served) -> None:
    for after in STAGES:
        assert_answered(served, after)


@pytest.mark.soak
def test_a_signature_of_a_final_slot_is_answered_from_the_ledger(served: Served) -> None:
    assert_answered(served, "sent")
    # What a process began with it no longer looks for.
    time.sleep(95.0)
    for after in STAGES:
        assert_answered(served, after)
