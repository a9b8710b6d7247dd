"""What real validators sent, recorded with their own bank hashes: behind each of their snapshots
every slot is proven, with exactly these hashes.
"""

import io
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import call_command
from django.utils import timezone
from solders.hash import Hash

from chain.epochs import EpochSchedule
from chain.units import Slot
from ingest import slot_queue
from ingest.services.slots import ingest_waiting
from rewind.baselines.models import Baseline
from rewind.coverage.services import epochs
from rewind.models import ArchivedSlot
from rewind.proof.services import proving
from rewind.proof.store import slot_proofs
from tests.ingest.test_snapshot_chains import no_node
from tests.recordings import closed_slots
from tests.rewind.test_running_proof import proven
from tests.soak import test_recorded_two_banks as two_banks
from tests.upstream.executed import Message, interleaved, marked

__all__ = ["no_node"]

pytestmark = [pytest.mark.soak, pytest.mark.django_db]


def _executed_twice(recording: Path, first: int, chance: random.Random) -> Iterator[bytes]:
    """The stream's messages, with another bank in two of three slots from `first` on; each message
    names its bank.
    """
    version = recording.name.removeprefix("agave-")
    slots = two_banks.by_slot(version)
    for slot in sorted(slots):
        own = slots[slot]
        truth = [_named(message, 10_000 + slot) for message in own]
        kinds = {two_banks.kind_of(message) for message in own}
        if slot > first and kinds >= {"account", "block_meta"} and chance.random() < 2 / 3:
            freezes, later = (chance.random() < 0.5 for _ in range(2))
            dropped = two_banks.dropped(own, chance, freezes, later)
            ghost = [_named(message, 20_000 + slot) for message in dropped]
            ends = [i for i, each in enumerate(own) if two_banks.kind_of(each) != "slot"]
            inner, after = truth[: ends[-1] + 1], truth[ends[-1] + 1 :]
            truth = [*interleaved(ghost, inner, chance), *after]
        yield from (message.SerializeToString() for message in truth)


def _named(message: Message, bank: int) -> Message:
    is_of_slot = (
        two_banks.kind_of(message) == "slot" and message.slot.status in two_banks.OF_THE_SLOT
    )
    return message if is_of_slot else marked([message], bank, lambda _kind: True)[0]


@pytest.mark.usefixtures("empty_redis", "empty_ledger")
@pytest.mark.parametrize("seed", range(int(os.environ.get("SOAK_EXAMPLES", "4"))))
def test_slots_that_are_executed_twice_are_stored_and_proven_as_their_final_banks(
    fixtures: Path, seed: int
) -> None:
    recording, slot = fixtures / "agave-4.4.0", 600
    banks, blocks = _begin_at(recording, slot)
    stream = _executed_twice(recording, slot, random.Random(seed))
    for closed in closed_slots(recording, begin=Slot(slot + 1), stream=stream):
        assert closed.account_writes is not None, closed.slot
        slot_queue.offer([slot_queue.pack(closed, reason="", source="recording")])
        ingest_waiting(now=timezone.now, seconds=60.0)
    _check(slot, banks, blocks)


@pytest.mark.usefixtures("empty_redis", "empty_ledger")
@pytest.mark.parametrize(
    ("version", "slot"), [("4.1.2", 200), ("4.1.2", 300), ("4.4.0", 600), ("4.4.0", 700)]
)
def test_every_slot_behind_a_snapshot_is_proven_with_the_nodes_hashes(
    fixtures: Path, version: str, slot: int
) -> None:
    """Since 4.4 snapshots name no storages."""
    recording = fixtures / f"agave-{version}"
    banks, blocks = _begin_at(recording, slot)
    for closed in closed_slots(recording, begin=Slot(slot + 1)):
        slot_queue.offer([slot_queue.pack(closed, reason="", source="recording")])
        ingest_waiting(now=timezone.now, seconds=60.0)
    archived = _check(slot, banks, blocks)
    print(
        f"\nAgave {version}: {len(archived)} banks after slot {slot}, proven to {archived[-1] - 1}"
    )


def _begin_at(recording: Path, slot: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Imports the snapshot of the slot: the node's banks and blocks by slot."""
    (snapshot,) = recording.glob(f"snapshot-{slot}-*.tar.zst")
    banks: dict[str, Any] = json.loads((recording / "banks.json").read_bytes())
    blocks: dict[str, Any] = json.loads(
        zstandard.decompress((recording / "blocks.json.zst").read_bytes())
    )
    proving.forget()
    epochs.keep(EpochSchedule(slots_per_epoch=128))  # as the node reports it
    options = ("--genesis", banks["0"]["blockhash"])
    call_command("import_snapshot", snapshot, *options, stdout=io.StringIO(), stderr=io.StringIO())
    baseline = Baseline.objects.get()
    assert (baseline.slot, baseline.proven, baseline.whole) == (slot, True, True)
    assert str(baseline.bank_hash) == banks[str(slot)]["bankHash"]
    return banks, blocks


def _check(slot: int, banks: dict[str, Any], blocks: dict[str, Any]) -> list[int]:
    """Every slot behind the snapshot is stored, and proven with the node's hash: these slots."""
    archived = list(ArchivedSlot.objects.order_by("slot").values_list("slot", flat=True))
    # Slots whose finalization the stream saw.
    assert archived == [int(each) for each in blocks if slot < int(each) <= archived[-1]]
    newest = archived[-1]
    assert newest > slot + 25
    assert proven(trusts_node=False) == {
        "proven": [(slot, newest - 1, "")],
        "unproven": [(newest, newest, "votes_not_seen")],
    }
    for each in archived:
        placed = slot_proofs.bank(each)
        assert placed is not None
        assert str(Hash(placed.bank.hash)) == banks[str(each)]["bankHash"], each
        assert placed.bank.signature_count == banks[str(each)]["signatureCount"], each
    return archived
