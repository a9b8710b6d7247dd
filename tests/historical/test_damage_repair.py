"""Damage of the sealed ledger is found, named, and repaired from a copy or opened as a gap."""

import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from chain.blocks import SlotRecord
from chain.encodings import b58encode
from columns import other_database
from gaps.slot_gap import GapStatus
from historical import tasks
from historical.coverage.services import gaps
from historical.models import (
    Gap,
    IndexRun,
    LedgerDamage,
    LedgerScrub,
    SealedBlock,
    SealedRange,
)
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.dictionary import SegmentDictionary
from historical.sealed.packed_index import SignatureIndex
from historical.sealed.packed_texts import OpenFrame, pack_frame
from historical.sealed.services import index_rebuild, repairing, scrubbing
from historical.sealed.services.sealed_life import LEDGER
from historical.sealed.store import sealed_blocks
from shared_state import damage_reports
from tests.conftest import Rpc
from tests.examples import examples
from tests.historical.made_blocks import ACCOUNTS, made_block
from tests.historical.sealed_reads import HISTORICAL, NOW, V0, every_read, seal
from tests.historical.test_sealed_damage import _nothing_cached, flip, refused
from tests.patience import PATIENCE_SECONDS
from tests.second_database import second_database

__all__ = ["_nothing_cached"]
pytestmark = pytest.mark.usefixtures("empty_ledger", "empty_redis", "_nothing_cached", "no_damage")
SLOTS = range(10, 60)
TABLES = tuple(
    f"historical_{name}"
    for name in ("packedtexts", "sealedblock", "sealedrange", "indexrun", "packedindex")
)
State = LedgerDamage.State
DAY = timedelta(days=1)
Reads = Callable[[], dict[str, Any]]


@pytest.fixture
def no_damage(empty_ledger: None) -> None:
    LedgerDamage.objects.all().delete()
    LedgerScrub.objects.all().delete()
    damage_reports.forget()


def blocks() -> list[SlotRecord]:
    return [made_block(slot, slot - 1, transactions=9, seed=1) for slot in SLOTS]


@pytest.fixture
def reads(rpc: Rpc, no_damage: None) -> Reads:
    """Every read of sealed blocks."""
    made = blocks()
    record_blocks([*made, made_block(1_000, 59, transactions=1, seed=1)], now=NOW)
    seal(64)
    chosen = [b58encode(each.signature) for block in made for each in block.transactions][::40]
    addresses = [b58encode(ACCOUNTS[0])]
    return lambda: every_read(rpc, slots=[*SLOTS][::9], signatures=chosen, addresses=addresses)


def scrub(*, days: int = 0, now: datetime | None = None) -> list[LedgerDamage]:
    """Reads all through; the damage that was not known."""
    found: list[LedgerDamage] = []
    for _ in range(1_000):
        done = LEDGER.scrub_step(
            older_than=days * DAY, now=now or datetime.now(UTC) + timedelta(hours=1)
        )
        if done is None:
            break
        found += done.found
        if not LedgerScrub.objects.get().is_running:
            break
    sealed_blocks.recent_dictionaries.forget()
    return found


def spoil_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE historical_packedindex SET block = set_byte(block, octet_length(block) - 1,"
            " get_byte(block, octet_length(block) - 1) # 1)"
        )


SPOILED = [
    ("texts", lambda: flip("historical_packedtexts", "frame")),
    ("dictionary", lambda: flip("historical_sealedrange", "keys")),
    ("entries", lambda: flip("historical_sealedblock", "entries")),
    ("index", spoil_index),
]


@pytest.mark.parametrize(("kind", "spoil"), SPOILED)
def test_it_comes_back_from_a_second_database(
    reads: Reads, kind: str, spoil: Callable[[], None]
) -> None:
    before = reads()
    assert scrub() == []
    with second_database(*TABLES) as url:
        spoil()
        found = scrub()
        assert {each.kind for each in found} == {kind}
        assert all(each.found_by == "scrub" and each.reason for each in found)
        assert scrub() == [], "it is known"
        with other_database.opened(url) as copy:
            assert all(repairing.repair_from(each, copy, now=NOW) for each in found)
    assert set(LedgerDamage.objects.values_list("state", flat=True)) == {State.REPAIRED}
    assert scrub() == []
    sealed_blocks.recent_dictionaries.forget()
    assert reads() == before


@pytest.mark.parametrize("removed", [False, True])
def test_a_run_of_the_index_is_made_again(reads: Reads, removed: bool) -> None:
    if removed:
        remove_blocks(30, 35)
    before = reads()
    spoil_index()
    found = scrub()
    assert len(found) == IndexRun.objects.filter(state=1).count() > 1
    assert not any(index_rebuild.rebuild(each, now=NOW, most_blocks=3) for each in found)
    made = [index_rebuild.rebuild(each, now=NOW) for each in found]
    kinds = dict(IndexRun.objects.values_list("id", "kind"))
    for each, is_made in zip(found, made, strict=True):
        # Of an address's entries nothing proves the number, where some count no more.
        assert is_made == (not removed or kinds[each.number] == SignatureIndex.kind)
    if not removed:
        assert scrub() == []
        assert reads() == before


def test_a_damaged_copy_is_not_taken(reads: Reads) -> None:
    flip("historical_packedtexts", "frame")
    found = scrub()
    with second_database(*TABLES) as url, other_database.opened(url) as copy:
        assert not any(repairing.repair_from(each, copy, now=NOW) for each in found)
    assert LedgerDamage.objects.filter(state=State.DAMAGED).count() == len(found) > 0


def test_a_read_reports_what_it_met(rpc: Rpc, reads: Reads) -> None:
    flip("historical_packedtexts", "frame")
    name = refused(rpc(HISTORICAL, "getBlock", 20, V0))
    found: list[LedgerDamage] = []
    until = time.monotonic() + PATIENCE_SECONDS
    while not found and time.monotonic() < until:
        found = LEDGER.look_into_reports(now=NOW)
        time.sleep(0.01)
    assert [(each.kind, each.found_by) for each in found] == [("texts", "read")]
    assert name == f"frame {found[0].number} of texts"


def test_a_frame_becomes_a_gap_and_is_filled_again(rpc: Rpc, reads: Reads) -> None:
    before = reads()
    flip("historical_packedtexts", "frame")
    found = scrub()
    opened = sum(repairing.open_as_gap(each, now=NOW) for each in found)
    assert opened == len(SLOTS) and not SealedBlock.objects.filter(slot__in=SLOTS).exists()
    assert set(LedgerDamage.objects.values_list("state", flat=True)) == {State.GAP}
    (gap,) = Gap.objects.filter(closed_at=None, cause="damaged")
    assert (gap.from_slot, gap.to_slot, gap.status) == (10, 59, GapStatus.MISSING)
    error = rpc(HISTORICAL, "getBlock", 20, V0)["error"]
    assert error["data"]["reason"] in ("slot_missing", "block_cleaned_up")
    record_blocks(blocks(), now=NOW)
    assert gaps.settle(10, 59, closed_by="again", now=NOW) == 50
    assert reads() == before
    seal(64)
    assert reads() == before
    assert scrub() == []


def test_blocks_are_recorded_again_from_a_source_that_has_them(reads: Reads) -> None:
    before = reads()
    flip("historical_packedtexts", "frame")
    found = scrub()
    stored = {block.slot: block for block in blocks()}
    other = made_block(20, 19, transactions=9, seed=2)
    for fetch in (lambda slot: None, lambda slot: other):
        assert not any(repairing.record_again(each, fetch, "a node", now=NOW) for each in found)
    assert all(repairing.record_again(each, stored.get, "a node", now=NOW) for each in found)
    assert reads() == before
    assert {each.ended_by for each in LedgerDamage.objects.all()} == {"a node"}


def test_all_is_read_through_once_in_so_many_days(reads: Reads) -> None:
    now = datetime.now(UTC)
    assert scrub(days=30, now=now) == []
    assert not LedgerScrub.objects.get().is_running
    assert scrub(days=30, now=now + 31 * DAY) == []
    assert LedgerScrub.objects.get().finished_at == now + 31 * DAY
    flip("historical_packedtexts", "frame")
    assert scrub(days=30, now=now + 40 * DAY) == []
    assert scrub(days=30, now=now + 62 * DAY)


def test_what_is_whole_again_is_no_damage(reads: Reads) -> None:
    flip("historical_packedtexts", "frame")
    found = scrub()
    assert not any(repairing.is_over(each, now=NOW) for each in found)
    flip("historical_packedtexts", "frame")
    assert all(repairing.is_over(each, now=NOW) for each in found)


def test_the_task_finds_and_makes_again(reads: Reads, settings: Any) -> None:
    before = reads()
    spoil_index()
    settings.LEDGER_SCRUB_DAYS = 0
    tasks.scrub_ledger()
    assert not LedgerDamage.objects.exists()
    settings.LEDGER_SCRUB_DAYS = 1
    SealedRange.objects.update(started_at=NOW)  # long ago
    while LedgerScrub.objects.filter(finished_at=None).exists() or not LedgerScrub.objects.exists():
        tasks.scrub_ledger()
    assert set(LedgerDamage.objects.values_list("state", flat=True)) == {State.REPAIRED}
    assert reads() == before


@given(st.binary(max_size=400), st.booleans())
@hypothesis.settings(max_examples=examples(200), deadline=None)
def test_any_bytes_are_a_frame_or_damaged(rubbish: bytes, has_head: bool) -> None:
    dictionary = SegmentDictionary(b"", b"")
    body = rubbish
    if has_head:
        good = pack_frame([b'{"a":1}', b'{"b":"' + rubbish.hex().encode() + b'"}'], dictionary)
        body = good[4 : 4 + len(rubbish) // 4] + rubbish[:40] + good[4 + len(rubbish) // 4 + 40 :]
    frame = zlib.crc32(body).to_bytes(4, "little") + body
    found = scrubbing.open_frame(7, frame, dictionary)
    assert isinstance(found, OpenFrame) or (found.kind, found.number) == ("texts", 7)
