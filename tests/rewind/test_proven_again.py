"""Proven slots that are lost or altered, and recorded again: what the proof then says of them."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord
from tests.rewind.conftest import NOW
from tests.rewind.damaging import flip, forget
from tests.rewind.proved_chains import MadeChain, change, with_writes
from tests.rewind.sealed_forms import seal
from tests.rewind.test_running_proof import FILTERED, after_a_gap, proven

Record = Callable[..., Any]
NINE = (9).to_bytes(32)


@pytest.fixture
def proof(committed: None, empty_redis: None) -> None:
    from rewind.proof.services import proving

    proving.forget()
    forget()


def chain_of(blocks: int = 8) -> MadeChain:
    """With a filtered account, of which the archive has no history."""
    from rewind.recording.services import filters

    filters.filter_owner(Pubkey(bytes([FILTERED]) * 32), filtered=True)
    made = MadeChain()
    made.block([change(0, account, 10) for account in (1, 2, 3)])
    for slot in range(1, blocks):
        hidden = change(slot, 50, slot, owner=FILTERED)
        made.block([change(slot, slot % 3 + 1, slot), change(slot, 9, 100 + slot, at=1), hidden])
    return made


def lose_sealed_slots() -> list[int]:
    """Sealed changes break for good, and the slots that are in these become gaps."""
    from rewind.models import ArchivedSlot
    from rewind.sealed.models import SealedBlock
    from rewind.sealed.services.sealed_life import ARCHIVE

    seal()
    before = set(ArchivedSlot.objects.values_list("slot", flat=True))
    for block in SealedBlock.objects.all():
        flip(block, bits=9)
    while ARCHIVE.scrub_step(older_than=timedelta(0), now=NOW + timedelta(seconds=1)):
        pass
    call_command("archive_repair", "--as-gap", stdout=StringIO())
    return sorted(before - set(ArchivedSlot.objects.values_list("slot", flat=True)))


def check_again(record: SlotRecord) -> None:
    """As a range that is fetched again is."""
    from rewind.recording.services.recording import record_slots

    record_slots([record], source="again", now=NOW, recheck=True)


def altered(true: SlotRecord) -> SlotRecord:
    writes = [
        each._replace(lamports=each.lamports + 1) if each.pubkey == NINE else each
        for each in true.account_writes or ()
    ]
    return with_writes(true, writes)


def with_stray(true: SlotRecord) -> SlotRecord:
    writes = list(true.account_writes or ())
    strays = [each._replace(pubkey=bytes([99]) * 32) for each in writes if each.pubkey == NINE]
    return with_writes(true, [*writes, *strays])


def test_proven_slots_that_were_lost_are_proven_when_equal_ones_come(
    proof: None, record: Record
) -> None:
    made = chain_of()
    record(*made.records)
    found = proven()
    assert found == {"proven": [(0, 6, "")], "unproven": [(7, 7, "votes_not_seen")]}
    lost = lose_sealed_slots()
    assert lost == [*range(8)]
    for slot in lost:
        record(altered(made.records[slot]) if slot == 4 else made.records[slot])
    assert proven() == {
        "proven": [(0, 3, ""), (5, 6, "")],
        "unproven": [(4, 4, "rewritten"), (7, 7, "votes_not_seen")],
    }
    check_again(made.records[4])
    assert proven() == found
    made.block()
    record(made.records[-1])
    assert proven()["proven"] == [(0, 7, "")]


@pytest.mark.parametrize("voted_in_between", [False, True])
def test_a_proven_slot_is_not_proven_while_it_is_a_gap(
    proof: None, record: Record, rpc: Any, voted_in_between: bool
) -> None:
    def said() -> list[tuple[Any, ...]]:
        names = ("fromSlot", "toSlot", "state", "reason", "restsOn")
        found = rpc("/rewind", "getRewindCoverage", {})["result"]["proof"]
        return [tuple(each.get(name) for name in names) for each in found]

    made = chain_of()
    record(*made.records)
    proven()
    newest = (7, 7, "unproven", "votes_not_seen", None)
    assert said() == [(0, 6, "proven", None, "node"), newest]
    assert lose_sealed_slots() == [*range(8)]
    record(made.records[0], *made.records[5:])
    proven()
    lost = [(0, 0, "proven", None, "node"), (1, 4, "unproven", "in_gap", None)]
    assert said() == [*lost, (5, 6, "proven", None, "node"), newest]
    answer = rpc("/rewind", "getSlotProof", 3)["result"]
    names = ("state", "reason", "restsOn", "votedThrough")
    assert [answer[name] for name in names] == ["unproven", "in_gap", None, None]
    made.block()
    if voted_in_between:
        # Of an account that slot 7 wrote, the state before it was lost.
        record(made.records[8])
        assert proven()["refuted"] == [(7, 7, "votes_differ")]
    for slot in (4, 2, 3, 1):
        record(made.records[slot])
    if not voted_in_between:
        proven()
        assert said() == [(0, 6, "proven", None, "node"), newest]
        record(made.records[8])
    assert proven() == {"proven": [(0, 7, "")], "unproven": [(8, 8, "votes_not_seen")]}


def test_gaps_of_an_older_version_are_not_proven_after_the_upgrade(
    proof: None, record: Record
) -> None:
    from rewind.proof.models import ProofRun

    made = chain_of()
    record(*made.records)
    before = proven()
    (settled,) = ProofRun.objects.filter(state="proven")
    lose_sealed_slots()
    record(made.records[0], *made.records[5:])
    found = proven()
    assert found["unproven"] == [(1, 4, "in_gap"), (7, 7, "votes_not_seen")]
    ProofRun.objects.filter(first_slot__lt=7).delete()
    settled.save(force_insert=True)  # as an older version left it
    call_command("migrate", "rewind", "0024", verbosity=0)
    assert proven() == before
    call_command("migrate", "rewind", verbosity=0)
    assert proven() == found
    for slot in (4, 2, 3, 1):
        record(made.records[slot])
    assert proven() == before


def test_a_slot_of_an_older_version_is_proven_again_if_it_was_compared_before(
    proof: None, record: Record
) -> None:
    from rewind.proof.models import SlotProof

    made = chain_of()
    record(*made.records)
    proven()
    SlotProof.objects.update(written=None)
    for slot in (1, 2, 4):
        check_again(altered(made.records[slot]) if slot == 4 else made.records[slot])
    assert lose_sealed_slots() == [*range(8)]
    record(*made.records)
    assert proven() == {
        "proven": [(1, 2, "")],
        "unproven": [(0, 0, "rewritten"), (3, 6, "rewritten"), (7, 7, "votes_not_seen")],
    }


def test_a_slot_whose_votes_did_not_come_yet_is_computed_again_when_it_comes_again(
    proof: None, record: Record
) -> None:
    made = chain_of()
    record(*made.records)
    proven()
    lost = lose_sealed_slots()
    made.block()
    record(made.records[-1])
    assert proven()["unproven"] == [(0, 6, "in_gap"), (7, 7, "not_computed")]
    record(*(made.records[slot] for slot in lost))
    assert proven()["proven"] == [(0, 7, "")]


def test_slots_around_a_snapshot_are_proven_when_equal_ones_come(
    proof: None, record: Record
) -> None:
    made, found = after_a_gap(record, lost=False)
    lost = lose_sealed_slots()
    assert {5, 12, 13} <= set(lost)
    for slot in lost:
        record(made.records[slot])
    assert proven()["proven"] == found
    record(*made.records[3:5])
    assert proven()["proven"] == [(0, 13, "")]


@pytest.mark.parametrize("slot", [3, 6])
@pytest.mark.parametrize("remembering", [True, False])
def test_a_slot_that_was_altered_is_proven_when_it_is_right_again(
    proof: None, record: Record, slot: int, remembering: bool
) -> None:
    made = chain_of()
    record(*made.records)
    before = proven(remembering=remembering)
    check_again(altered(made.records[slot]))
    assert (slot, slot, "rewritten") in proven()["unproven"]
    check_again(made.records[slot])
    if slot == 6:  # nothing above it is settled
        assert proven(remembering=remembering)["consistent"] == [(6, 6, "")]
        made.block()
        record(made.records[-1])
        before = {"proven": [(0, 7, "")], "unproven": [(8, 8, "votes_not_seen")]}
    assert proven(remembering=remembering) == before


def test_a_write_that_never_was_keeps_its_slot_unproven(proof: None, record: Record) -> None:
    made = chain_of()
    record(*made.records)
    proven()
    check_again(with_stray(made.records[3]))
    for _ in range(2):
        assert (3, 3, "rewritten") in proven()["unproven"]
        check_again(made.records[3])
