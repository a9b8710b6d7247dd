"""What real validators recorded: behind a snapshot the archive computes the next epoch's stakes
from its own accounts, and they are those of the same validator's later snapshot.
"""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from chain.units import Slot
from ingest import slot_queue
from ingest.services.slots import ingest_waiting
from rewind.baselines.models import StakeTurn
from rewind.proof.services import stake_turns
from rewind.proof.store import epoch_stakes
from rewind.proof.store.epoch_stakes import StakeOrigin
from tests.ingest.test_snapshot_chains import no_node
from tests.recordings import closed_slots
from tests.soak.test_recorded_nodes import _begin_at

__all__ = ["no_node"]

pytestmark = [pytest.mark.soak, pytest.mark.django_db]


@pytest.mark.usefixtures("empty_redis", "empty_ledger")
@pytest.mark.parametrize(
    ("version", "first", "later", "turn", "total"),
    [
        # With floats, and without admission.
        ("4.1.2", 200, 300, 2, 1_000_072_525_912_113),
        # With integers, and with it.
        ("4.4.0", 600, 700, 5, 1_000_166_065_836_272),
    ],
)
def test_the_stakes_that_follow_are_those_of_the_later_snapshot(
    fixtures: Path, version: str, first: int, later: int, turn: int, total: int
) -> None:
    recording = fixtures / f"agave-{version}"
    banks, _ = _begin_at(recording, first)
    for closed in closed_slots(recording, begin=Slot(first + 1)):
        slot_queue.offer([slot_queue.pack(closed, reason="", source="recording")])
        ingest_waiting(now=timezone.now, seconds=60.0)
    while stake_turns.count_step():
        pass
    counted = StakeTurn.objects.get()
    assert (counted.epoch, counted.outcome) == (turn, "computed")
    computed = epoch_stakes.of_epoch(turn + 1)
    assert sum(each.lamports for each in computed.values()) == total
    origin = StakeOrigin(computed_slot=turn * 128 - 1)
    assert epoch_stakes.origin_of(turn + 1) == origin
    # One with other stakes, or other voters, would be refused.
    (snapshot,) = recording.glob(f"snapshot-{later}-*.tar.zst")
    options = ("--genesis", banks["0"]["blockhash"])
    call_command("import_snapshot", snapshot, *options, stdout=io.StringIO(), stderr=io.StringIO())
    assert epoch_stakes.of_epoch(turn + 1) == computed
    assert epoch_stakes.origin_of(turn + 1) == origin
    print(f"\nAgave {version}: {counted.accounts} stake accounts, {total} lamports as in {later}")
