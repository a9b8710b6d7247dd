"""Sweeps: every lamport of an expired address goes to the treasury, once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair

from tests.examples import examples
from tests.patience import PATIENCE_SECONDS
from tests.tipping.balance_chain import (
    LEAST,
    SEED,
    TREASURY,
    BalanceChain,
    addresses,
    balance_chain,
    expired_batch,
)
from tipping.models import TipBatch, TipSweep, TipSweepPart
from tipping.services import sweeping
from tipping.sweep_transactions import grouped, sweep_transaction
from upstream.node import Node, NodeUnreachable

POLICY = sweeping.SweepPolicy(seed=SEED, treasury=TREASURY, after=timedelta(minutes=5))
LATER = timedelta(minutes=11)


@pytest.fixture
def chain() -> Iterator[BalanceChain]:
    with balance_chain() as made:
        yield made


def plan(chain: BalanceChain, now: datetime | None = None) -> int:
    return sweeping.plan(
        chain.node, policy=POLICY, recorded_to=lambda: chain.recorded_to, now=now or timezone.now()
    )


def bring_out(chain: BalanceChain, now: datetime | None = None) -> list[str]:
    """Executes all planned sweeps on the chain and settles them."""
    fates = []
    for sweep in list(sweeping.planned()):
        fate = chain.execute(bytes(sweep.wire))
        fates.append(fate)
        sweeping.settle(
            sweep.signature,
            state="expired" if fate == "dropped" else fate,
            slot=None if fate == "dropped" else chain.slot,
            reason="",
            now=now or timezone.now(),
        )
    return fates


# --- transactions ---


@given(st.lists(st.integers(1, 3_000_000) | st.just(LEAST), max_size=45))
def test_groups_empty_their_sources_and_include_all_that_can_be_paid_for(held: list[int]) -> None:
    keypairs = {keypair.pubkey(): keypair for keypair in (Keypair() for _ in held)}
    balances = dict(zip(keypairs, held, strict=True))
    # The network lets no account live with less.
    chain = BalanceChain(is_recorded=False)
    chain.held.update({key: lamports for key, lamports in balances.items() if lamports >= LEAST})
    alive = dict(chain.held)
    groups = grouped(alive)
    for group in groups:
        signers = [keypairs[key] for key, _ in group.sources]
        wire = bytes(sweep_transaction(group, signers, to=TREASURY, blockhash=Hash.default()))
        assert len(wire) <= 1_232
        assert chain.execute(wire) == "landed"
        assert not any(chain.held[key] for key, _ in group.sources)
    assert chain.held[TREASURY] == sum(group.lamports - group.fee for group in groups)
    left = [lamports for key, lamports in chain.held.items() if key != TREASURY and lamports]
    assert all(lamports < LEAST + 5_000 for lamports in left)
    assert chain.held[TREASURY] + sum(left) + chain.fees == sum(alive.values())


# --- a batch's life cycle ---


@pytest.mark.django_db
def test_a_batch_is_swept_with_few_transactions_and_then_done(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=40)
    tipped = addresses(batch)[5:28]
    for pubkey in tipped:
        chain.tip(pubkey, 1_000_000)
    assert plan(chain) == 3
    assert TipSweepPart.objects.filter(is_open=True).count() == 23
    assert plan(chain, timezone.now() + LATER) == 0  # what a crash left planned stays so
    assert bring_out(chain) == ["landed"] * 3
    assert chain.held[TREASURY] == 23 * 1_000_000 - chain.fees == 23 * 995_000
    assert plan(chain) == 0
    batch.refresh_from_db()
    assert batch.swept_at is not None
    assert batch.sweep_note == ""
    assert not TipSweepPart.objects.filter(is_open=True).exists()


@pytest.mark.django_db
def test_an_untipped_batch_is_read_once(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=250)
    fresh = expired_batch(chain, issued=3, number=2)
    TipBatch.objects.filter(pk=fresh.pk).update(expires_at=timezone.now() - timedelta(minutes=4))
    assert plan(chain) == 0
    asked = chain.slot
    assert plan(chain) == 0
    assert chain.slot == asked
    batch.refresh_from_db()
    fresh.refresh_from_db()
    assert batch.swept_at is not None
    assert fresh.swept_at is None
    assert fresh.balances_read_at is None  # not due yet


@pytest.mark.django_db
def test_a_late_tip_to_a_swept_address_is_swept_too(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=2)
    chain.tip(addresses(batch)[0], 2_000_000)
    plan(chain), bring_out(chain), plan(chain)
    batch.refresh_from_db()
    assert batch.swept_at is not None
    chain.tip(addresses(batch)[0], 1_500_000)
    chain.tip(addresses(batch)[1], 1_000_000)
    assert plan(chain) == 1
    assert bring_out(chain) == ["landed"]
    plan(chain)
    batch.refresh_from_db()
    assert batch.swept_at is not None
    assert chain.held[TREASURY] + chain.fees == chain.received == 4_500_000


@pytest.mark.django_db
def test_a_batch_from_before_there_were_epochs_is_swept(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=2, epoch="")
    chain.tip(addresses(batch)[0], 2_000_000)
    assert plan(chain) == 1
    assert bring_out(chain) == ["landed"]
    plan(chain)
    batch.refresh_from_db()
    assert batch.swept_at is not None


@pytest.mark.django_db
def test_only_provably_expired_sweeps_are_planned_again(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=1)
    chain.tip(addresses(batch)[0], 2_000_000)
    plan(chain)
    first = TipSweep.objects.get()
    assert plan(chain, timezone.now() + LATER) == 0
    sweeping.settle(
        first.signature, state="refused", slot=None, reason="no_upstream", now=timezone.now()
    )
    assert plan(chain) == 1
    assert bring_out(chain) == ["landed"]
    first.refresh_from_db()
    assert (first.state, first.reason) == ("expired", "no_upstream")
    # The last word is the chain's.
    sweeping.settle(first.signature, state="landed", slot=7, reason="", now=timezone.now())
    sweeping.settle(first.signature, state="expired", slot=None, reason="", now=timezone.now())
    first.refresh_from_db()
    assert (first.state, first.slot) == ("landed", 7)
    sweeping.settle(b"x" * 64, state="landed", slot=7, reason="", now=timezone.now())


@pytest.mark.django_db
def test_a_sweep_that_failed_on_chain_waits_before_the_next_one(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=2)
    for pubkey in addresses(batch):
        chain.tip(pubkey, 2_000_000)
    plan(chain)
    chain.tip(addresses(batch)[1], 1)  # a lamport too many: what it leaves cannot live
    assert bring_out(chain) == ["failed"]
    assert plan(chain) == 0
    assert plan(chain, timezone.now() + LATER) == 1
    assert bring_out(chain) == ["landed"]
    assert chain.held[TREASURY] + chain.fees == chain.received


@pytest.mark.django_db
def test_dust_waits_for_a_richer_address(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=3)
    for pubkey in addresses(batch)[:2]:
        chain.tip(pubkey, LEAST)
    assert plan(chain) == 0
    batch.refresh_from_db()
    assert batch.swept_at is None
    assert "1,781,760 lamports (0.00178176 SOL) on 2 addresses wait" in batch.sweep_note
    richer = expired_batch(chain, issued=1, number=2)
    chain.tip(addresses(richer)[0], 1_000_000)
    assert plan(chain, timezone.now() + LATER) == 1
    assert bring_out(chain) == ["landed"]
    assert chain.held[TREASURY] + 15_000 == chain.received


@pytest.mark.django_db
def test_differences_between_ledger_and_chain_are_noted(
    chain: BalanceChain, caplog: pytest.LogCaptureFixture
) -> None:
    batch = expired_batch(chain, issued=2)
    chain.is_recorded = False
    chain.tip(addresses(batch)[0], 2_000_000)
    chain.is_recorded = True
    assert plan(chain) == 1
    batch.refresh_from_db()
    assert (
        batch.sweep_note
        == "1 address holds 2,000,000 lamports (0.002 SOL) more than the ledger of tips says"
    )
    bring_out(chain)
    plan(chain)
    batch.refresh_from_db()
    assert batch.swept_at is not None
    assert "is swept, but 1 address holds 2,000,000 lamports (0.002 SOL) more" in caplog.text


@pytest.mark.django_db
def test_a_ledger_that_is_behind_the_node_is_waited_for(
    chain: BalanceChain, caplog: pytest.LogCaptureFixture
) -> None:
    batch = expired_batch(chain, issued=2)
    chain.tip(addresses(batch)[0], 2_000_000)
    plan(chain)
    chain.is_recorded, before = False, chain.slot
    assert bring_out(chain) == ["landed"]
    chain.behind = chain.slot - before
    for _ in range(2):
        assert plan(chain) == 0
        batch.refresh_from_db()
        assert (batch.swept_at, batch.balances_read_at) == (None, None)
        assert batch.sweep_note.startswith("the ledger of tips has not reached slot 102,")
    # The block's turn came, and the sweep is not in it.
    chain.behind = 0
    plan(chain)
    batch.refresh_from_db()
    assert batch.swept_at is not None
    assert "1 address holds 2,000,000 lamports (0.002 SOL) less" in batch.sweep_note
    assert "is swept, but 1 address holds" in caplog.text


@pytest.mark.django_db
def test_addresses_of_another_seed_are_noted_and_left(
    chain: BalanceChain, caplog: pytest.LogCaptureFixture
) -> None:
    batch = expired_batch(chain, issued=2)
    chain.tip(addresses(batch)[0], 2_000_000)
    policy = sweeping.SweepPolicy(seed=b"t" * 32, treasury=TREASURY, after=POLICY.after)
    assert (
        sweeping.plan(chain.node, policy=policy, recorded_to=lambda: chain.slot, now=timezone.now())
        == 0
    )
    batch.refresh_from_db()
    assert batch.sweep_note == "no key for 1 of its addresses: TIP_SECRET_SEED has changed"
    assert "TIP_SECRET_SEED has changed" in caplog.text
    assert sweeping.recheck([batch.pk]) == 1
    assert plan(chain) == 1


@pytest.mark.django_db
def test_without_the_node_nothing_is_planned_nor_called_swept(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=2)
    with pytest.raises(NodeUnreachable):
        sweeping.plan(
            Node("http://127.0.0.1:1"),
            policy=POLICY,
            recorded_to=lambda: chain.slot,
            now=timezone.now(),
        )
    batch.refresh_from_db()
    assert (batch.swept_at, batch.balances_read_at) == (None, None)


# --- many at once ---


def at_once(work: Callable[[], int], workers: int) -> list[int]:
    """What each of so many threads came to, begun together on connections of their own."""
    start = threading.Barrier(workers)

    def run(_number: int) -> int:
        try:
            start.wait()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, range(workers)))


@pytest.mark.django_db(transaction=True)
def test_planners_at_once_give_each_address_to_one_sweep(chain: BalanceChain) -> None:
    batches = [expired_batch(chain, issued=20, number=number) for number in (1, 2)]
    for batch in batches:
        for pubkey in addresses(batch):
            chain.tip(pubkey, 1_000_000)
    planned = at_once(lambda: plan(chain), 8)
    assert sum(planned) == TipSweep.objects.count()
    # A planner that found some addresses taken left the whole group to the next run.
    while plan(chain):
        pass
    open_parts = TipSweepPart.objects.filter(is_open=True)
    assert open_parts.count() == open_parts.values("address").distinct().count() == 40
    assert set(bring_out(chain)) == {"landed"}
    assert chain.held[TREASURY] + chain.fees == 40_000_000


@pytest.mark.django_db(transaction=True)
def test_balances_that_were_read_before_a_sweep_are_worth_nothing(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=1)
    chain.tip(addresses(batch)[0], 2_000_000)
    read_at = chain.slot
    plan(chain)
    bring_out(chain)
    # A node that lags behind still returns the old balance.
    chain.held[addresses(batch)[0]] += 2_000_000
    chain.slot, now_at = read_at, chain.slot
    assert plan(chain) == 0
    chain.slot = now_at
    assert TipSweep.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_batch_is_called_swept_while_an_entry_is_being_recorded(chain: BalanceChain) -> None:
    batch = expired_batch(chain, issued=1)
    recording, recorded = threading.Event(), threading.Event()

    def record() -> int:
        with transaction.atomic():
            chain.tip(addresses(batch)[0], 2_000_000)
            chain.held.clear()  # the sweeper's node is behind
            recording.set()
            assert recorded.wait(PATIENCE_SECONDS)
        return 0

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lambda: at_once(record, 1))
        assert recording.wait(PATIENCE_SECONDS)
        plan(chain)
        batch.refresh_from_db()
        assert batch.swept_at is None
        recorded.set()
        done.result()
    chain.slot -= 1
    plan(chain)  # the entry is of a later slot than the empty balances
    batch.refresh_from_db()
    assert batch.swept_at is None
    chain.slot, chain.held[addresses(batch)[0]] = chain.slot + 1, 2_000_000
    assert plan(chain) == 1


# --- any sequence of events ---

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tip"), st.integers(0, 13), st.sampled_from([LEAST, 900_000, 1_000_000])),
        st.tuples(st.just("dust"), st.integers(0, 13), st.integers(1, 9)),
        st.tuples(st.just("plan"), st.just(0), st.just(0)),
        st.tuples(st.just("land"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("expire"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("wait"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@pytest.mark.django_db
@settings(
    max_examples=examples(12),
)
@given(STEPS)
def test_receipts_are_the_treasury_s_gain_and_the_fees(
    steps: list[tuple[str, int, int]],
) -> None:
    with balance_chain() as chain, transaction.atomic():
        batches = [expired_batch(chain, issued=7, number=number) for number in (1, 2)]
        keys = [key for batch in batches for key in addresses(batch)]
        now = timezone.now()
        for what, number, lamports in steps:
            if what == "tip" or (what == "dust" and chain.held[keys[number]]):
                chain.tip(keys[number], lamports)
            elif what == "plan":
                plan(chain, now)
            elif what == "wait":
                now += LATER
            elif what in ("land", "expire"):
                for sweep in sweeping.planned()[number : number + 1]:
                    fate = chain.execute(bytes(sweep.wire)) if what == "land" else "dropped"
                    slot = None if fate == "dropped" else chain.slot
                    state = "expired" if fate == "dropped" else fate
                    sweeping.settle(sweep.signature, state=state, slot=slot, reason="", now=now)
            assert chain.held[TREASURY] + sum(chain.held[key] for key in keys) + chain.fees == (
                chain.received
            )
        for _ in range(4):
            now += LATER
            plan(chain, now)
            bring_out(chain, now)
        plan(chain, now + LATER)
        left = {key: chain.held[key] for key in keys if chain.held[key]}
        assert not grouped(left)
        gained = sum(
            sweep.lamports - sweep.fee for sweep in TipSweep.objects.filter(state="landed")
        )
        assert chain.held[TREASURY] == gained
        for batch in batches:
            batch.refresh_from_db()
            assert (batch.swept_at is None) == bool(left.keys() & set(addresses(batch)))
            assert "ledger" not in batch.sweep_note
        transaction.set_rollback(True)
