"""Damage in objects of cold storage is found, named, never served, and repaired."""

from pathlib import Path
from typing import Any

import pytest

from columns import other_database
from rewind.errors import ArchiveStoreUnavailable
from rewind.sealed.models import SealedBlock, SealedDamage, SealedSegment
from rewind.sealed.packing import block_codec
from rewind.sealed.services import damage_gaps, moving, repairing
from rewind.sealed.store import cold_blocks, sealing
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.damaging import SEALED, flip, forget
from tests.rewind.histories import text
from tests.rewind.samples import key
from tests.rewind.sealed_forms import move, seal
from tests.rewind.test_cold_storage import folder
from tests.rewind.test_damage import blocks_of, history, refill, refused, scrub
from tests.rewind.test_sealing import everything
from tests.second_database import second_database

__all__ = ["folder", "history"]
State = SealedDamage.State


def spoil(folder: Path, block: SealedBlock, *, bits: int = 1) -> str:
    """So many bits of the block in its object flip; the object's name."""
    block.refresh_from_db()
    segment = SealedSegment.objects.get(pk=block.segment_id)
    name = cold_blocks.object_name(segment.cold_name, block.bucket)
    data = bytearray((folder / name).read_bytes())
    assert block.at is not None
    for number in range(bits):
        data[block.at + 40 + number // 8] ^= 1 << number % 8
    (folder / name).write_bytes(bytes(data))
    forget()
    cold_blocks.forget()
    return name


def test_a_flipped_bit_in_an_object_is_found_and_restored_here(
    rpc: Rpc, history: Any, folder: Path
) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    packed = bytes(damaged.block)
    assert move()
    name = spoil(folder, damaged)
    place = {"slot": damaged.slot}
    assert refused(rpc("/rewind", "getAccountInfo", text(key(1)), place))["block"] == damaged.pk
    assert "result" in rpc("/rewind", "getAccountInfo", text(key(2)), place)
    (found,) = scrub()
    assert (found.block, found.place, found.reason) == (damaged.pk, name, "the checksum differs")
    assert repairing.repair_from_here(found, now=NOW) == "its checksum: one bit had flipped"
    assert bytes(SealedBlock.objects.get(pk=damaged.pk).block) == packed
    assert everything(rpc) == before
    assert scrub() == []
    assert move() == 0


def test_a_missing_object_comes_back_from_a_second_database(
    rpc: Rpc, history: Any, folder: Path
) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    with second_database(*SEALED) as url:
        assert move()
        (folder / spoil(folder, damaged)).unlink()
        found = scrub()
        assert damaged.pk in {each.block for each in found}
        assert all(each.reason.endswith("is not in the store") for each in found)
        assert not any(repairing.repair_from_here(each, now=NOW) for each in found)
        with other_database.opened(url) as copy:
            assert all(repairing.repair_from(each, copy, now=NOW) for each in found)
    assert everything(rpc) == before
    assert scrub() == []


def test_a_dictionary_comes_back_from_the_objects(
    rpc: Rpc, history: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_codec, "TARGET", 200)
    before = everything(rpc)
    seal(half=True)
    number = sealing.active()[0].id
    dictionary = bytes(SealedSegment.objects.get(pk=number).dictionary)
    assert move()
    SealedSegment.objects.filter(pk=number).update(dictionary=dictionary[:-1] + b"?")
    forget()
    (found,) = scrub()
    assert found.block == 0
    assert repairing.repair_from_here(found, now=NOW) == "its objects"
    assert everything(rpc) == before


def test_a_damaged_object_becomes_a_gap(rpc: Rpc, history: Any, folder: Path) -> None:
    before = everything(rpc)
    seal(half=True)
    damaged = blocks_of(1)[2]
    assert move()
    spoil(folder, damaged, bits=9)
    scrub()
    opened = damage_gaps.open_as_gap(damaged.segment_id, now=NOW, pause=lambda _: None)
    assert opened is not None and opened.slots and not opened.loses_snapshots
    refill(history)
    assert everything(rpc) == before
    assert scrub() == []


def test_a_damaged_segment_does_not_move(history: Any, folder: Path) -> None:
    seal()
    first, second = (each.id for each in sealing.active())
    flip(blocks_of(1)[2], bits=9)
    (found,) = scrub()
    assert found.segment == first
    assert moving.next_segment(moving.Policy(after=-1_000_000)) == second
    assert move()
    assert SealedSegment.objects.get(pk=first).cold_at is None
    assert SealedSegment.objects.get(pk=second).cold_at is not None


def test_a_store_that_is_away_is_not_taken_for_damage(history: Any, folder: Path) -> None:
    seal(half=True)
    assert move()
    folder.rename(folder.with_name(f"{folder.name}-away"))
    forget()
    cold_blocks.forget()
    with pytest.raises(ArchiveStoreUnavailable):
        scrub()
    assert not SealedDamage.objects.exists()
