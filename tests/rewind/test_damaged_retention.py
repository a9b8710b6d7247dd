"""Retention beside damage: what can be dropped is, and nothing that may be needed."""

from typing import Any

import pytest

from historical.blocks.services import bounds
from historical.recording.services.recording import record_blocks
from ingest.services import retention
from rewind.errors import ArchiveDamaged
from rewind.recording.services.retention import prune
from rewind.sealed.models import SealedBlock
from rewind.sealed.services import repairing
from rewind.sealed.services import sealing as sealing_service
from rewind.sealed.store import sealing as store
from shared_state import task_faults
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.damaging import flip, forget
from tests.rewind.histories import text
from tests.rewind.samples import block, key
from tests.rewind.sealed_forms import seal
from tests.rewind.test_damage import END, history, scrub
from tests.rewind.test_sealing import SLOTS

__all__ = ["history"]


def test_retention_drops_what_lies_below_damage_and_the_rest_once_it_is_repaired(
    rpc: Rpc, history: Any
) -> None:
    newest = SLOTS[-1]
    policy = sealing_service.Policy(margin=0)
    while len(store.active()) < 2:
        assert sealing_service.seal_step(policy, now=NOW)
    low, high = (each.id for each in store.active())
    states = [rpc("/rewind", "getAccountInfo", text(key(each)), END) for each in range(1, 12)]
    damaged = SealedBlock.objects.filter(segment=high).order_by("pk")[1]
    flip(damaged, bits=9)
    (found,) = scrub()
    prune(newest)
    assert [each.id for each in store.active()] == [high]
    prune(newest)
    assert [each.id for each in store.active()] == [high]
    SealedBlock.objects.filter(pk=damaged.pk).update(block=damaged.block)
    assert repairing.repair_from_here(found, now=NOW)
    forget()
    prune(newest)
    assert store.active() == []
    told = [rpc("/rewind", "getAccountInfo", text(key(each)), END) for each in range(1, 12)]
    assert [_state(each) for each in told] == [_state(each) for each in states]
    assert low != high


def test_damage_that_is_not_known_keeps_no_slot_of_the_ledger(history: Any) -> None:
    newest = SLOTS[-1]
    seal(half=True)
    record_blocks([block(slot, slot - 1, []) for slot in (newest - 4, newest)], now=NOW)
    for each in SealedBlock.objects.all():
        flip(each, bits=9)
    with pytest.raises(ArchiveDamaged):
        retention.apply(archive_slots=1, ledger_slots=2)
    assert bounds.first_available_block() == newest
    reasons = {name: fault.reason for name, fault in task_faults.read().items()}
    assert list(reasons) == ["prune_archive"]
    assert "ArchiveDamaged" in reasons["prune_archive"]


def _state(answer: dict[str, Any]) -> Any:
    """The account, whichever slot its state is told to be of: carried ones are of the edge."""
    value = answer["result"]["value"]
    return value and {name: value[name] for name in value if name != "rewindSlot"}
