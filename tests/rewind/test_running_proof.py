"""The running proof over an archive: what is proven, what is refuted, and why the rest is not."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.pubkey import Pubkey

from tests.chain.proofs import ACCOUNTS
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.proved_chains import (
    MadeChain,
    change,
    first_difference,
    keep_stakes,
    with_fault,
    with_writes,
)

FILTERED = 77


@pytest.fixture
def prove(db: None) -> Callable[[], dict[str, list[tuple[int, int, str]]]]:
    """Proves as far as it goes; runs of slots by state."""
    from rewind.proof.services import proving

    proving.forget()
    return proven


def proven(
    *,
    remembering: bool = True,
    wait_slots: int = 20_000,
    trusts_node: bool = True,
    roots: dict[int, bytes] | None = None,
) -> Any:
    """By the stakes that are known, or by equal ones that the trusted node has."""
    from rewind.proof.services import proving
    from rewind.proof.store import epoch_stakes, proof_runs

    if trusts_node and not epoch_stakes.known_among((0,)):
        keep_stakes(25, 25, 25, 25)
    policy = proving.Policy(3, wait_slots, 1 << 20, trusts_node, roots or {})
    while proving.prove_step(policy):
        if not remembering:
            proving.forget()
    proving.trim(policy)
    found: dict[str, list[tuple[int, int, str]]] = {}
    for run in proof_runs.between(0, 10**6, 1_000):
        found.setdefault(run.state, []).append((run.first, run.last, run.reason))
    return found


def small(blocks: int = 6) -> MadeChain:
    made = MadeChain()
    made.block([change(0, account, 10) for account in (1, 2, 3)])
    for slot in range(1, blocks):
        made.block([change(slot, slot % 3 + 1, slot), change(slot, 9, 100 + slot, at=1)])
    return made


def save_baseline(made: MadeChain, record: Callable[..., Any]) -> None:
    """Of the newest block, as an import of a proven snapshot leaves it."""
    from rewind.baselines.models import Baseline
    from rewind.baselines.services.baseline import record_baseline

    slot, parent = made.records[-1].slot, made.records[-1].parent_slot
    living = [each for each in made.states.values() if each.lamports]
    record_baseline(living, slot, source="snapshot", now=NOW, whole=True)
    Baseline.objects.filter(slot=slot).update(
        proven=True,
        lattice=made.sums[slot],
        bank_hash=Hash(made.hashes[slot]),
        parent_slot=parent,
        parent_hash=Hash(made.hashes[parent]),
    )


def test_slots_are_proven_by_the_votes_above_them(record: Any, prove: Any) -> None:
    made = small()
    for each in made.records:
        record(each)
    assert prove() == {"proven": [(0, 4, "")], "unproven": [(5, 5, "votes_not_seen")]}
    from rewind.proof.store import slot_proofs

    for slot in range(6):
        placed = slot_proofs.bank(slot)
        assert placed is not None
        assert placed.bank.hash == made.hashes[slot]
        assert placed.bank.lattice == made.sums[slot]


def test_skipped_slots_are_proven_with_the_block_above(record: Any, prove: Any) -> None:
    made = small(3)
    made.block(slot=7)
    made.block(slot=8)
    record(*made.records)
    assert prove()["proven"] == [(0, 7, "")]


def test_another_process_takes_it_up_anywhere(record: Any, db: None) -> None:
    from rewind.recording.services import filters

    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    made = small()
    for slot in range(6, 12):
        made.block([change(slot, 50, slot, owner=FILTERED)], voters=(0, 1))
    made.block()
    made.block()
    record(*made.records)
    found = proven(remembering=False)
    assert found["proven"] == [(0, 12, "")]
    assert proven() == found


def test_failed_votes_do_not_count(record: Any, prove: Any) -> None:
    made = small(3)
    made.block(votes_failed=True)
    record(*made.records)
    assert prove()["proven"] == [(0, 1, "")]


def test_a_lost_write_is_refuted_there_and_proven_once_it_is_here(record: Any, prove: Any) -> None:
    from rewind.recording.services.recording import record_slots

    made = small(8)
    lost = made.records[3]
    faulty = with_writes(lost, (lost.account_writes or [])[:-1])
    record(*made.records[:3], faulty, *made.records[4:])
    assert prove() == {
        "proven": [(0, 2, "")],
        "refuted": [(3, 3, "votes_differ")],
        "unproven": [(4, 7, "not_computed")],
    }
    record_slots([lost], source="other", now=NOW, recheck=True)
    assert prove() == {"proven": [(0, 6, "")], "unproven": [(7, 7, "votes_not_seen")]}


def test_a_refuted_genesis_is_proven_once_it_is_right(record: Any, prove: Any) -> None:
    from rewind.recording.services.recording import record_slots

    made = small()
    lost = made.records[0]
    faulty = with_writes(lost, (lost.account_writes or [])[:-1])
    record(faulty, *made.records[1:])
    assert prove()["refuted"] == [(0, 0, "votes_differ")]
    record_slots([lost], source="other", now=NOW, recheck=True)
    assert prove() == {"proven": [(0, 4, "")], "unproven": [(5, 5, "votes_not_seen")]}


@pytest.mark.parametrize("number", [0, 3])
def test_a_slot_rewritten_before_votes_for_it_is_computed_again(
    record: Any, prove: Any, number: int
) -> None:
    from rewind.recording.services.recording import record_slots

    made = MadeChain()
    made.block([change(0, account, 10) for account in (1, 2, 3)])
    for slot in range(1, 8):
        made.block([change(slot, 9, 100 + slot, at=1)], voters=())
    made.block()
    lost = made.records[number]
    faulty = with_writes(lost, (lost.account_writes or [])[:-1])
    record(*[faulty if each is lost else each for each in made.records[:8]])
    assert prove() == {"unproven": [(0, 7, "votes_not_seen")]}
    record_slots([lost], source="other", now=NOW, recheck=True)
    assert prove() == {"unproven": [(0, 7, "votes_not_seen")]}
    record(made.records[8])
    assert prove() == {"proven": [(0, 7, "")], "unproven": [(8, 8, "votes_not_seen")]}


def test_stakes_weigh_where_they_are_known(record: Any, prove: Any) -> None:
    from rewind.baselines.models import Baseline
    from rewind.proof.models import SlotProof
    from rewind.proof.store import epoch_stakes

    baseline = Baseline.objects.create(slot=1, source="x", accounts=0, recorded_at=NOW)
    names = [bytes(account) for account in ACCOUNTS]
    stakes = dict(zip(names, (70, 10, 10, 10), strict=True))
    epoch_stakes.keep(
        epoch_stakes.StakeOrigin(baseline),
        0,
        {name: epoch_stakes.Stake(each, None) for name, each in stakes.items()},
    )
    made = MadeChain()
    for slot in range(4):
        made.block(voters=(0,) if slot == 2 else (1, 2, 3))
    record(*made.records)
    # The snapshot is not proven, so no one vouches for its stakes.
    assert prove()["consistent"] == [(0, 1, "")]
    row = SlotProof.objects.get(slot=1)
    assert (row.stake, row.total_stake, row.voters, row.first_landed) == (70, 100, 1, 2)
    assert (bytes(row.voted_hash), row.voted_slot) == (made.hashes[1], 1)


def test_a_gap_breaks_the_proof_until_it_is_filled(record: Any, prove: Any) -> None:
    made = small(9)
    record(*made.records[:3], *made.records[4:])
    assert prove()["proven"] == [(0, 1, "")]
    record(made.records[3])
    assert prove()["proven"] == [(0, 7, "")]


def test_a_slot_that_waits_too_long_stays_unproven(record: Any, prove: Any) -> None:
    made = small(20)
    record(*made.records[:3], *made.records[4:])
    found = proven(wait_slots=10)
    assert found["proven"] == [(0, 1, "")]
    assert (4, 8, "gap_before") in found["unproven"]
    record(made.records[3])
    assert proven()["proven"] == [(0, 2, "")]


def test_a_baseline_takes_it_up_again_and_a_filled_gap_meets_it(record: Any, prove: Any) -> None:
    made = small(6)
    record(*made.records[:3])
    for slot in range(6, 10):
        made.block([change(slot, 2, slot)])
    late = made.records[3:]
    save_baseline(made, record)
    for slot in range(10, 14):
        made.block([change(slot, 2, 0), change(slot, 4, slot)])
    record(*made.records[10:])
    found = prove()
    assert found["proven"] == [(0, 1, ""), (9, 12, "")]
    record(*late[: 9 - 3 + 1])
    assert prove()["proven"] == [(0, 12, "")]


def after_a_gap(record: Any, *, lost: bool, remembering: bool = True) -> tuple[MadeChain, Any]:
    """Slots 0 to 2, a gap of 3 and 4, 5 to 14 with a snapshot at 12; where something is `lost`, an
    account that slot 8 writes was last written in the gap. What is proven without the gap.
    """
    from rewind.recording.services import filters

    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    made = small(3)
    for slot in range(3, 13):
        writes = [change(slot, 1, slot), change(slot, 50, slot, owner=FILTERED)]
        if slot == 8 or (lost and slot == 4):
            writes.append(change(slot, 2, slot))
        made.block(writes)
    record(*made.records[:3], *made.records[5:])
    assert proven(remembering=remembering)["proven"] == [(0, 1, "")]
    save_baseline(made, record)
    for slot in (13, 14):
        made.block([change(slot, 2, slot)])
    record(*made.records[13:])
    return made, proven(remembering=remembering)["proven"]


@pytest.mark.parametrize("remembering", [True, False])
def test_below_a_snapshot_slots_are_proven_down_to_a_gap(
    record: Any, prove: Any, remembering: bool
) -> None:
    made, found = after_a_gap(record, lost=False, remembering=remembering)
    # Of slot 5, the votes in it say what its parent's hash is.
    assert found == [(0, 1, ""), (5, 13, "")]
    from rewind.proof.store import slot_proofs

    for slot in range(5, 12):
        placed = slot_proofs.bank(slot)
        assert placed is not None
        assert (placed.bank.hash, placed.bank.lattice) == (made.hashes[slot], made.sums[slot])
        assert placed.bank.parent_hash == made.hashes[slot - 1]
    record(*made.records[3:5])
    assert prove()["proven"] == [(0, 13, "")]


def test_not_below_an_account_that_the_gap_wrote_last(record: Any, prove: Any) -> None:
    made, found = after_a_gap(record, lost=True)
    assert found == [(0, 1, ""), (8, 13, "")]
    record(*made.records[3:5])
    assert prove()["proven"] == [(0, 13, "")]


def test_a_faulty_slot_between_a_gap_and_a_snapshot_is_not_proven(record: Any, prove: Any) -> None:
    made = small(3)
    for slot in range(3, 13):
        made.block([change(slot, 1, slot), change(slot, 2, slot)])
    true = made.records[9]
    faulty = with_writes(true, (true.account_writes or [])[:-1])
    record(*made.records[:3], *made.records[5:9], faulty, *made.records[10:])
    save_baseline(made, record)
    for slot in (13, 14):
        made.block([change(slot, 2, slot)])
    record(*made.records[13:])
    # Slot 10 writes the account, and what slot 9 wrote of it is not here.
    assert prove()["proven"] == [(0, 1, ""), (10, 13, "")]


def test_a_chain_that_meets_an_unvoted_snapshot_waits_for_its_votes(
    record: Any, prove: Any
) -> None:
    made = small(6)
    made.block()
    late = made.records[3:7]
    save_baseline(made, record)
    made.block(voters=())
    record(*made.records[:3], made.records[7])
    prove()
    record(*late)
    assert prove()["proven"] == [(0, 4, "")]
    made.block()
    record(made.records[8])
    assert prove()["proven"] == [(0, 7, "")]


def test_without_votes_a_chain_ends(record: Any, prove: Any) -> None:
    from rewind.proof.models import SlotProof, SlotWrites

    made = MadeChain(voters=())
    for _ in range(20):
        made.block()
    record(*made.records)
    assert proven(wait_slots=10) == {"unproven": [(0, 19, "votes_not_seen")]}
    assert not SlotProof.objects.exists()
    assert not SlotWrites.objects.exists()


def test_filtered_accounts_of_a_long_chain_are_kept(record: Any, prove: Any) -> None:
    from rewind.recording.services import filters

    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    made = MadeChain()
    for slot in range(60):
        made.block([change(slot, 50, slot, owner=FILTERED)] if slot in (1, 55) else [])
        record(made.records[-1])
        proven(wait_slots=2, remembering=False)
    assert proven(wait_slots=2)["proven"] == [(0, 58, "")]


def test_without_a_baseline_nothing_is_proven(record: Any, prove: Any) -> None:
    made = small(9)
    record(*made.records[2:])
    assert prove() == {}
    assert proven(wait_slots=3) == {"unproven": [(2, 4, "no_baseline")]}


def test_a_filter_that_comes_and_goes_does_not_end_it(record: Any, prove: Any) -> None:
    from rewind.recording.services import filters

    owner, account = Pubkey(bytes([FILTERED]) * 32), Pubkey((3).to_bytes(32))
    made = small(3)
    for slot in range(3, 24):
        if slot == 6:
            filters.filter_owner(owner, filtered=True)
        if slot == 12:
            filters.filter_account(account, filtered=True)
        if slot == 18:
            filters.filter_owner(owner, filtered=False)
            filters.filter_account(account, filtered=False)
        owners = FILTERED if slot % 4 else 9
        writes = [change(slot, 50 + slot % 2, slot, owner=owners), change(slot, 3, slot)]
        made.block([*writes, change(slot, 60, slot % 5, owner=FILTERED, at=1)])
    # Filters hold from the next batch on.
    filters.filter_owner(owner, filtered=False)
    filters.filter_account(account, filtered=False)
    for each in made.records:
        if each.slot in (6, 18):
            filters.filter_owner(owner, filtered=each.slot == 6)
        if each.slot in (12, 18):
            filters.filter_account(account, filtered=each.slot == 12)
        record(each)
        if each.slot % 3 == 0:
            prove()
    assert prove()["proven"] == [(0, 22, "")]


def test_a_proven_slot_that_is_rewritten_is_proven_no_more(record: Any, prove: Any) -> None:
    from rewind.recording.services.recording import record_slots

    made = small(6)
    record(*made.records)
    prove()
    record_slots([made.records[2]], source="other", now=NOW, recheck=True)
    assert prove()["proven"] == [(0, 4, "")]
    writes = made.records[2].account_writes or []
    wrong = [each._replace(lamports=each.lamports + 1) for each in writes]
    record_slots([with_writes(made.records[2], wrong)], source="x", now=NOW, recheck=True)
    assert prove() == {
        "proven": [(0, 1, ""), (3, 4, "")],
        "unproven": [(2, 2, "rewritten"), (5, 5, "votes_not_seen")],
    }


def test_retention_cuts_what_left_the_window(record: Any, prove: Any) -> None:
    from rewind.recording.services.retention import prune

    made = small(9)
    record(*made.records)
    prove()
    prune(4)
    assert prove()["proven"] == [(4, 7, "")]
    made.block()
    record(made.records[-1])
    assert prove()["proven"] == [(4, 8, "")]


Draft = list[list[tuple[int, int, int]]]
_write = st.tuples(st.integers(1, 5), st.integers(0, 3), st.sampled_from([9, FILTERED]))
_drafts = st.lists(
    st.lists(_write, max_size=3, unique_by=lambda each: each[0]), min_size=3, max_size=7
)


@settings(
    max_examples=2_000 if examples(2) == 2 else 15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    draft=_drafts,
    kind=st.sampled_from(["none", "lost", "altered", "doubled", "moved"]),
    data=st.data(),
)
def test_of_random_histories_exactly_the_faulty_slot_is_refuted(
    db: None, draft: Draft, kind: str, data: st.DataObject
) -> None:
    """Also with filtered accounts, which have no history in the archive."""
    from rewind.proof.services import proving
    from rewind.recording.services import filters
    from rewind.recording.services.recording import record_slots

    made = MadeChain()
    for slot, drafted in enumerate(draft):
        made.block([change(slot, account, lamports, owner=by) for account, lamports, by in drafted])
    faulty = with_fault(made.records, kind, lambda some: data.draw(st.sampled_from(some)))
    expected = first_difference(made.records, faulty)
    with transaction.atomic():
        point = transaction.savepoint()
        proving.forget()
        filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
        record_slots(faulty, source="stream", now=NOW)
        found = proven(remembering=data.draw(st.booleans()))
        transaction.savepoint_rollback(point)
    proving.forget()
    last = len(draft) - 1
    if expected is None or expected == last:
        assert found["proven"] == [(0, last - 1, "")]
        assert "refuted" not in found
    else:
        assert found.get("proven", []) == ([(0, expected - 1, "")] if expected else [])
        assert found["refuted"] == [(expected, expected, "votes_differ")]
