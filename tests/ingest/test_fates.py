"""Fates for good: what stored blocks hold of submissions, and what the ledger proves lost."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.slot_ranges import SlotRange
from columns import raw_queries
from historical.blocks.services.bounds import newest_slot_or_none
from historical.recording.services.recording import record_blocks
from ingest import tasks
from ingest.coverage import Coverage
from ingest.follower_state import FollowerState, publish
from ingest.services import fates
from priority.fates.services.announcing import FIELD, key_stream, unpack
from priority.models import Bundle, Submission
from shared_state import clock
from shared_state.redis_client import client
from tests.examples import examples
from tests.ingest.made_chain import (
    FAILURE,
    block,
    dying_chain,
    fate,
    signature,
    store,
    submitted,
)
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import running_localnet
from tests.patience import PATIENCE_SECONDS
from tipping.models import TipSweep
from upstream.node import Node

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

OPEN = ("sent", "", None, None, None, False)
EXPIRED = ("expired", "", None, None, None, True)


def settle(node: Node | None = None, *, later: timedelta = timedelta()) -> None:
    fates.settle_due(node=node, now=timezone.now() + later)


def test_what_a_block_holds_has_landed_or_failed_for_good() -> None:
    good, bad, other = submitted(1), submitted(2), submitted(3)
    record = block(
        7, height=5, holds={signature(9): None, signature(2): FAILURE, signature(1): None}
    )
    store(record)
    assert fate(good) == ("landed", "finalized", 7, 2, None, True)
    assert fate(bad) == ("failed", "finalized", 7, 1, FAILURE, True)
    assert fate(other) == OPEN
    settled = good.settled_at
    store(record)
    assert fate(good) == ("landed", "finalized", 7, 2, None, True)
    assert good.settled_at == settled


def test_a_row_that_is_written_after_its_block_is_found_in_the_ledger() -> None:
    store(block(7, height=5, holds={signature(1): FAILURE}))
    late, young = submitted(1), submitted(2, age=timedelta(seconds=0))
    store(block(8, height=6, holds={signature(2): None}))
    tasks.settle_fates()
    assert fate(late) == ("failed", "finalized", 7, 0, FAILURE, True)
    assert fate(young) == ("landed", "finalized", 8, 0, None, True)


def test_what_a_block_holds_without_its_status_has_no_fate_yet() -> None:
    """Its source had no status meta: whether it failed is not known, nor is it lost."""
    row = submitted(1, blockhash_of=5)
    record = block(7, height=5, holds={signature(1): None})
    record.transactions[0] = replace(record.transactions[0], meta=None)
    store(block(5, height=5), record, block(8, height=155), block(9, height=156))
    assert fate(row) == OPEN
    settle()
    assert fate(row) == OPEN


def test_a_fork_s_landing_is_not_final() -> None:
    row = submitted(
        1, blockhash_of=5, state="landed", commitment="processed", slot=6, seen_at=timezone.now()
    )
    store(block(5, height=5), block(7, 5, height=6))
    settle()
    assert fate(row) == ("landed", "processed", 6, None, None, False)
    store(block(8, height=155), block(9, height=156))
    settle()
    assert fate(row) == EXPIRED
    assert row.seen_at is None


@pytest.mark.parametrize("known", [True, False])
def test_expiry_comes_with_the_first_block_above_the_last_valid_height(known: bool) -> None:
    if known:
        row = submitted(1, blockhash_of=100, accepted_slot=101)
    else:
        row = submitted(1, accepted_slot=101, last_valid=240)
        store(block(98, height=0))
    store(block(99, height=89), block(100, height=90), block(103, 100, height=91))
    for slot, height in ((104, 238), (105, 239), (106, 240)):
        store(block(slot, height=height))
        settle()
        assert fate(row) == OPEN
    store(block(109, 106, height=241))
    settle()
    assert fate(row) == EXPIRED
    assert row.reason == "blockhash_expired"


def test_what_a_stream_that_is_behind_does_not_know_yet_is_not_over() -> None:
    """It knew height 5 when its sender had a blockhash of height 400."""
    accepted = int(timezone.now().timestamp()) - 60
    row = submitted(1, blockhash_of=400, accepted_slot=5, last_valid=155)
    other = submitted(2, accepted_slot=5, last_valid=155)

    def at(slot: int, **fields: Any) -> Any:
        return block(slot, height=slot, time=accepted - (400 - slot) // 2, **fields)

    store(*(at(slot) for slot in range(300)))
    settle()
    assert fate(row) == fate(other) == OPEN
    store(*(at(slot) for slot in range(300, 401)))
    settle()
    assert fate(row) == fate(other) == OPEN
    store(*(at(slot) for slot in range(401, 410)))
    settle()
    assert fate(row) == OPEN and fate(other) == EXPIRED
    store(at(410, holds={signature(1): None}))
    assert fate(row) == ("landed", "finalized", 410, 0, None, True)


def test_the_ledger_is_asked_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    execute = raw_queries.execute

    def counted(sql: str, parameters: Any) -> Any:
        asked.append(sql)
        return execute(sql, parameters)

    monkeypatch.setattr(raw_queries, "execute", counted)
    end = int(timezone.now().timestamp())
    store(*(block(slot, height=slot, time=end - 400 + slot) for slot in range(400)))

    def asked_for(count: int) -> int:
        Submission.objects.all().delete()
        for number in range(count):
            age = timedelta(seconds=60 + number)
            submitted(2 * number, accepted_slot=340 - number, last_valid=200, age=age)
            submitted(2 * number + 1, age=timedelta(seconds=200 + number))
        asked.clear()
        settle()
        assert Submission.objects.filter(state="expired").count() == 2 * count
        return len(asked)

    assert asked_for(1) == asked_for(30)


@pytest.mark.parametrize("missing", [2, 7, 11])
def test_nothing_expires_while_a_block_is_missing_that_could_hold_it(missing: int) -> None:
    row = submitted(1, blockhash_of=1, accepted_slot=5, last_valid=151)
    store(*(each for each in dying_chain() if each.slot != missing))
    settle()
    assert fate(row) == OPEN
    store(*dying_chain({missing: {signature(1): None}}))
    assert fate(row) == ("landed", "finalized", missing, 0, None, True)


def test_a_gap_that_is_filled_without_it_proves_it_lost() -> None:
    row = submitted(1, blockhash_of=1)
    store(*(each for each in dying_chain() if each.slot != 7))
    settle()
    assert fate(row) == OPEN
    store(*dying_chain())
    settle()
    assert fate(row) == EXPIRED


def test_a_gap_below_or_behind_does_not_matter() -> None:
    row = submitted(1, blockhash_of=3, accepted_slot=4)
    chain = [block(slot, height=20 * slot) for slot in range(1, 20)]
    store(*(each for each in chain if each.slot not in (2, 14)))
    settle()
    assert fate(row) == EXPIRED


@pytest.mark.parametrize("last_valid", [151, None])
def test_it_may_have_landed_before_it_was_accepted_here(last_valid: int | None) -> None:
    """Its sender sent it elsewhere first; the ledger lacks its blockhash, and its block."""
    began = int(timezone.now().timestamp()) - 600
    row, lost = (
        submitted(
            number,
            blockhash_of=1,
            accepted_slot=4,
            last_valid=last_valid,
            age=timedelta(seconds=400),
        )
        for number in (1, 2)
    )
    chain = {
        slot: block(slot, height=15 * slot - 14, time=began + 40 * slot, holds=holds)
        for slot, holds in {**dict.fromkeys(range(1, 13)), 3: {signature(1): None}}.items()
    }
    for slots in (range(4, 13), [2]):
        store(*(chain[slot] for slot in slots))
        settle()
        assert fate(row) == fate(lost) == OPEN
    store(chain[1], chain[3])
    settle()
    assert fate(row) == ("landed", "finalized", 3, 0, None, True)
    assert fate(lost) == EXPIRED


@pytest.mark.parametrize("begins_at", [700, 701, 702])
def test_a_blockhash_of_no_block_needs_all_blocks_it_could_be_of(begins_at: int) -> None:
    """The last valid height is its own, or that of the newest block when it was accepted."""
    row = submitted(1, accepted_slot=101, last_valid=1_000)
    store(block(90, height=begins_at), block(91, height=None), block(92, height=1_000))
    settle()
    assert fate(row) == OPEN
    store(block(93, height=1_001))
    settle()
    assert fate(row) == (EXPIRED if begins_at <= 701 else OPEN)


def test_without_heights_the_clock_tells() -> None:
    """The lander knew nothing of the chain, and the ledger not the blockhash."""
    now = timezone.now()
    began = int(now.timestamp()) - 600
    row = submitted(1, age=timedelta(seconds=300))
    for place in range(100):
        time = began + 60 * place
        assert fate(row) == OPEN
        store(block(100 + place, height=None, time=time))
        settle()
        if time >= int(now.timestamp()) - 300 + 120:
            break
    assert fate(row) == EXPIRED


def test_what_no_upstream_took_was_refused() -> None:
    silent = submitted(1, blockhash_of=1, state="received", sent_at=None)
    told = submitted(
        2, blockhash_of=1, state="received", sent_at=None, reason="upstream_refused: too busy"
    )
    store(*dying_chain())
    settle()
    assert fate(silent) == fate(told) == ("refused", "", None, None, None, True)
    assert (silent.reason, told.reason) == ("never_sent", "upstream_refused: too busy")


@pytest.mark.parametrize(("accepted_slot", "why"), [(10, "never_sent"), (11, "blockhash_expired")])
def test_a_blockhash_that_was_too_old_already(accepted_slot: int, why: str) -> None:
    """The lander sends nothing that can only expire: that is no fault of the service."""
    row = submitted(1, blockhash_of=1, accepted_slot=accepted_slot, state="received", sent_at=None)
    store(*dying_chain())
    settle()
    assert fate(row) == ("refused", "", None, None, None, True)
    assert row.reason == why


def test_a_block_that_came_late_overrules_every_word() -> None:
    row = submitted(1, blockhash_of=1, state="expired", settled_at=timezone.now())
    store(block(1, height=1), block(9, height=9))
    store(block(5, height=5, holds={signature(1): None}))
    assert fate(row) == ("landed", "finalized", 5, 0, None, True)


def bundle(*rows: Submission) -> Bundle:
    made = Bundle.objects.create(bundle_id=f"{rows[0].pk:064}", accepted_at=timezone.now())
    for place, row in enumerate(rows):
        Submission.objects.filter(pk=row.pk).update(bundle=made, bundle_index=place, kind="bundle")
    return made


def test_a_bundle_follows_its_transactions() -> None:
    together = bundle(submitted(1), submitted(2))
    apart = bundle(submitted(3, blockhash_of=1), submitted(4, blockhash_of=1))
    lost = bundle(submitted(5, blockhash_of=1), submitted(6, blockhash_of=1))
    dropped = bundle(submitted(7, blockhash_of=1))
    Bundle.objects.filter(pk=dropped.pk).update(reason="engine_dropped: engine says Failed")
    empty = Bundle.objects.create(bundle_id="0", accepted_at=timezone.now())
    chain = dying_chain({3: {signature(1): None}, 4: {signature(2): None, signature(3): None}})
    store(*chain[:3])
    together.refresh_from_db()
    assert (together.state, together.settled_at) == ("received", None)
    store(*chain[3:])
    settle()

    def told(made: Bundle) -> tuple[str, int | None, str, bool]:
        made.refresh_from_db()
        return made.state, made.slot, made.reason, made.settled_at is not None

    assert told(together) == ("landed", 4, "", True)
    assert told(apart) == ("failed", 4, "landed_in_part: 1 of 2 landed, 0 failed", True)
    assert told(lost) == ("expired", None, "blockhash_expired", True)
    assert told(dropped) == ("expired", None, "engine_dropped: engine says Failed", True)
    assert told(empty)[0] == "refused" and told(empty)[3]


def sweep(number: int) -> TipSweep:
    return TipSweep.objects.create(
        signature=signature(number),
        wire=b"",
        treasury=Pubkey.new_unique(),
        lamports=1,
        fee=1,
        planned_at=timezone.now(),
    )


def test_a_sweep_s_fate_is_its_submission_s() -> None:
    sweeps = [sweep(number) for number in (1, 2, 3)]
    for number in (1, 2, 3):
        submitted(number, blockhash_of=1, kind="sweep")
    store(*dying_chain({7: {signature(1): None, signature(2): FAILURE}}))
    settle()
    for each in sweeps:
        each.refresh_from_db()
    assert [(each.state, each.slot) for each in sweeps] == [
        ("landed", 7),
        ("failed", 7),
        ("expired", None),
    ]


def test_a_fate_is_announced_once_it_is_stored(issue: Callable[..., Any]) -> None:
    key = issue().key
    submitted(1, key=key, blockhash_of=1)
    submitted(2, key=key, blockhash_of=1)
    chain = dying_chain({5: {signature(1): FAILURE}})
    store(*chain[:5])
    store(*chain[5:])
    settle()
    entries: Any = client().xrange(key_stream(key.pk))
    changes = [change for _, fields in entries for _, change in unpack(fields[FIELD])]
    assert [
        (each.signature, each.state, each.slot, each.err, each.settled) for each in changes
    ] == [
        (signature(1), "failed", 5, FAILURE, True),
        (signature(2), "expired", None, None, True),
    ]


def test_rows_that_a_lander_holds_are_settled_the_next_time() -> None:
    row = submitted(1)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            list(Submission.objects.select_for_update().filter(pk=row.pk))
            held.set()
            assert done.wait(PATIENCE_SECONDS)
        connection.close()

    lander = threading.Thread(target=hold)
    lander.start()
    try:
        assert held.wait(PATIENCE_SECONDS)
        store(block(7, height=5, holds={signature(1): None}))
        settle()
        assert fate(row) == OPEN
    finally:
        done.set()
        lander.join()
    settle()
    assert fate(row) == ("landed", "finalized", 7, 0, None, True)


def test_workers_at_once_settle_each_fate_once(issue: Callable[..., Any]) -> None:
    key = issue().key
    for number in range(3, 41):
        submitted(number, key=key, blockhash_of=1)
    holds = {slot: {signature(2 * slot - place): None for place in (1, 0)} for slot in range(2, 12)}
    chain = dying_chain(holds)
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def work() -> None:
        try:
            start.wait(PATIENCE_SECONDS)
            for at in range(0, len(chain), 3):
                store(*chain[at : at + 3])
                settle()
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    settle()
    assert not failures
    states = dict(Submission.objects.values_list("signature", "state"))
    assert {bytes(key): state for key, state in states.items()} == {
        signature(number): "landed" if number <= 22 else "expired" for number in range(3, 41)
    }
    entries: Any = client().xrange(key_stream(key.pk))
    told = [change.signature for _, fields in entries for _, change in unpack(fields[FIELD])]
    assert sorted(told) == sorted(map(signature, range(3, 41)))


def test_where_a_gap_stays_the_node_is_asked(settings: Any) -> None:
    with running_localnet(LOCALNET_SLOT_MS=20) as localnet:
        payer = wallet(localnet)
        payment = signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer)
        paid = send(localnet, payment)
        status = landed(localnet, paid)
        localnet.wait_for_slot(status["slot"] + 20)
        held = submitted(1, signature=bytes(payment.signatures[0]), accepted_slot=1, last_valid=3)
        dead = submitted(2, accepted_slot=1, last_valid=3, age=timedelta(minutes=3))
        alive = submitted(3, accepted_slot=1, last_valid=10**9, age=timedelta(minutes=3))
        # Its blockhash is in no block of ours, and the node's newest one is a minute younger.
        recent = [submitted(5, accepted_slot=1, last_valid=3), submitted(6)]
        store(block(1, height=1))
        node = Node(localnet.url)
        settle(node)
        assert fate(held) == fate(dead) == OPEN
        settle(Node("http://127.0.0.1:1"), later=timedelta(minutes=5))
        assert fate(held) == fate(dead) == OPEN
        settle(node, later=timedelta(minutes=5))
        assert fate(held) == ("landed", "finalized", status["slot"], None, None, True)
        assert fate(dead) == EXPIRED
        assert dead.reason.startswith("blockhash_expired: by 127.0.0.1:")
        assert fate(alive) == OPEN
        assert [fate(each) for each in recent] == [OPEN, OPEN]
        # Where the follower is silent, the ledger's head stands: it is asked sooner.
        settings.UPSTREAM_RPC_URL = localnet.url
        old = submitted(4, accepted_slot=1, last_valid=3, age=timedelta(minutes=3))
        now = clock.seconds()
        publish(FollowerState(connected_since=now, heard_at=now))
        tasks.settle_fates()
        assert fate(old) == OPEN
        publish(FollowerState(connected_since=0, heard_at=now))
        tasks.settle_fates()
        assert fate(old) == EXPIRED
        # The gap is filled later after all: now its place is known.
        store(block(10**6, height=10**6))
        store(node.block(status["slot"]))
        details = {"transactionDetails": "signatures", "rewards": False}
        place = localnet.call("getBlock", status["slot"], details)["signatures"].index(paid)
        assert fate(held) == ("landed", "finalized", status["slot"], place, None, True)


@rules(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_fates_agree_with_a_plain_chain(data: st.DataObject) -> None:
    """Whatever order blocks are stored in: nothing that the chain holds is ever called lost, and in
    the end everything has the fate that it has on the chain.
    """
    count = data.draw(st.integers(8, 16), label="blocks")
    slots, slot, height, heights = [], 10, 1_000, {}
    for _ in range(count):
        slot += data.draw(st.sampled_from([1, 1, 1, 2, 4]))
        height += data.draw(st.sampled_from([1, 10, 30, 75]))
        slots.append(slot)
        heights[slot] = height
    parents = dict(zip(slots, [9, *slots], strict=False))
    held: dict[int, dict[bytes, Any]] = {slot: {} for slot in slots}
    with transaction.atomic():
        # Below it nothing can be that was good when the chain began.
        store(block(9, height=700))
        rows = []
        for number in range(data.draw(st.integers(1, 6))):
            base = data.draw(st.sampled_from(slots[:5]))
            accepted = data.draw(st.sampled_from([None, *slots[:8]]))
            known = data.draw(st.booleans())
            last_valid = heights[base] + 150
            place = data.draw(st.sampled_from([None, *slots]))
            if place is not None and not heights[base] < heights[place] <= last_valid:
                place = None
            if place is not None:
                held[place][signature(number)] = data.draw(st.sampled_from([None, FAILURE]))
            if known:
                told = data.draw(st.sampled_from([None, last_valid]))
            else:
                # Of a blockhash that is not known it may be that of the newest block.
                told = last_valid = last_valid + data.draw(st.sampled_from([0, 30, 150]))
            row = submitted(
                number,
                blockhash_of=base if known else -1,
                accepted_slot=accepted if accepted is not None or known else slots[0],
                last_valid=told,
            )
            rows.append((row, place, last_valid))
        chain = [
            block(slot, parents[slot], height=heights[slot], holds=held[slot]) for slot in slots
        ]
        order = data.draw(st.permutations(range(0, count, 3)), label="order")
        stored: set[int] = set()
        for at in [*order, data.draw(st.sampled_from(order))]:
            reached = newest_slot_or_none()
            late = None if reached is None else SlotRange(0, reached)
            record_blocks(chain[at : at + 3], now=timezone.now())
            fates.settle_stored(chain[at : at + 3], late=late, now=timezone.now())
            stored |= {record.slot for record in chain[at : at + 3]}
            settle()
            for row, place, _ in rows:
                state, _, slot_of, *_, is_settled = fate(row)
                if place is None:
                    assert state in ("sent", "expired")
                elif place in stored:
                    assert is_settled and slot_of == place
                    assert state == (
                        "landed" if held[place][bytes(row.signature)] is None else "failed"
                    )
                else:
                    assert state == "sent", "the chain holds it"
        newest = heights[slots[-1]]
        for row, place, last_valid in rows:
            if place is None:
                assert (fate(row) == EXPIRED) == (newest > last_valid)
        transaction.set_rollback(True)


@given(data=st.data())
def test_coverage_agrees_with_a_plain_look(data: st.DataObject) -> None:
    slots, slot = [], 0
    for _ in range(data.draw(st.integers(1, 20))):
        slot += data.draw(st.integers(1, 3))
        slots.append(slot)
    chain = [
        (slot, parent, 100 + n)
        for n, (slot, parent) in enumerate(zip(slots, [0, *slots], strict=False))
    ]
    missing = data.draw(st.sets(st.sampled_from(chain), max_size=3))
    here = [each for each in chain if each not in missing]
    coverage = Coverage(
        [
            (slot, parent, data.draw(st.sampled_from([None, height, height])))
            for slot, parent, height in here
        ]
    )
    first, height = data.draw(st.integers(1, slot)), data.draw(st.integers(99, 100 + len(chain)))
    above = [each for each in chain if each[2] > height]
    needed = [each for each in chain if each[0] >= first and each[2] <= height]
    proved = bool(above) and set(needed) <= set(here) and above[0] in here
    if coverage.is_past(first, height):
        # What is proved holds; with heights that are not told less can be.
        assert set(needed) <= set(here)
        assert any(each in here for each in above)
    elif proved and first > chain[0][1]:
        told = Coverage(here)
        assert told.is_past(first, height)


def test_a_chain_is_whole_from_its_genesis_which_is_its_own_parent() -> None:
    coverage = Coverage([(0, 0, 0), (1, 0, 1), (3, 1, 2)])
    assert coverage.is_past(0, 1) and coverage.is_whole(0, 2)
    assert not coverage.is_past(0, 2)
