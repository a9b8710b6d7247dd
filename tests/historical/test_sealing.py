"""Sealed blocks are read as they were before, and take much less space."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from chain.encodings import b58encode
from chain.slot_ranges import SlotRange
from historical import tasks
from historical.blocks.services.text_caches import recent_opened
from historical.coverage.services import checking
from historical.models import (
    AddressEntries,
    Block,
    IndexRun,
    SealedBlock,
    SealedRange,
    Transaction,
)
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.services.sealing import seal_step
from ingest.services import retention
from tests.conftest import Rpc
from tests.rewind.samples import block

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, V0, every_read, seal

RANGE = 6_400
SLOTS = [1, 43200, 55065003, 100000000, 147078735]
LARGE = 254170887  # only single transactions of it are read: whole it takes seconds
VOTE = "Vote111111111111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
ABSENT = "11111111111111111111111111111112"
# Above all others, so that their ranges are finished.
TOP = 340_000_000


def some_signatures(rpc: Rpc) -> list[str]:
    found = []
    for slot in [*SLOTS, LARGE]:
        config = {"transactionDetails": "signatures", "maxSupportedTransactionVersion": 0}
        of_block = rpc(HISTORICAL, "getBlock", slot, config)["result"]["signatures"]
        found += of_block[:: max(1, len(of_block) // 6)]
    return found


def some_addresses(rpc: Rpc, signatures: list[str]) -> list[str]:
    found = {VOTE: None, TOKEN: None, ABSENT: None}
    for signature in signatures[::7]:
        config = {"maxSupportedTransactionVersion": 0}
        result = rpc(HISTORICAL, "getTransaction", signature, config)["result"]
        found |= dict.fromkeys(result["transaction"]["message"]["accountKeys"][:2])
    return list(found)


def all_reads(rpc: Rpc) -> dict[str, Any]:
    signatures = some_signatures(rpc)
    return every_read(
        rpc,
        slots=[*SLOTS, 2, 55065099, TOP + 1],
        signatures=signatures,
        addresses=some_addresses(rpc, signatures),
    )


@pytest.fixture
def topped(real_ledger: Path) -> Path:
    """The real blocks, and one above them."""
    record_blocks([block(TOP, 332254855, transactions=2)], now=NOW)
    return real_ledger


@pytest.mark.soak
def test_every_read_returns_the_same_sealed_and_with_late_blocks(
    rpc: Rpc, topped: Path, fixtures: Path
) -> None:
    before = all_reads(rpc)
    blocks, transactions = Block.objects.count(), Transaction.objects.count()
    bodies = body_bytes()
    seal(RANGE, most=12)
    assert 0 < SealedBlock.objects.count() < blocks - 1
    assert all_reads(rpc) == before
    done = seal(RANGE)
    assert done[-1].startswith("finished range"), done
    assert SealedBlock.objects.count() == blocks - 1
    assert Transaction.objects.count() == 2
    assert SealedRange.objects.filter(finished_at=None).count() == 0
    assert sum(SealedRange.objects.values_list("transactions", flat=True)) == transactions - 2
    assert AddressEntries.objects.exclude(first_slot=TOP).count() == 0
    assert all_reads(rpc) == before
    assert seal(RANGE) == []
    assert sum(SealedRange.objects.values_list("packed_bytes", flat=True)) < 0.4 * bodies
    late_blocks_are_merged(rpc, fixtures, before)


def late_blocks_are_merged(rpc: Rpc, fixtures: Path, before: dict[str, Any]) -> None:
    """Into a sealed range, and as one of their own."""
    from .conftest import import_path

    remove_blocks(55065000, 55065060)
    remove_blocks(147078735, 147078735)
    assert "error" in rpc(HISTORICAL, "getBlock", 55065003, {"maxSupportedTransactionVersion": 0})
    for name in ("mainnet-55065000-55065099.dbin.zst", "solders-147078735.json.json.gz"):
        import_path(fixtures / "blocks" / name)
    assert Transaction.objects.filter(slot=147078735).exists()
    assert all_reads(rpc) == before
    seal(RANGE)
    assert not Transaction.objects.exclude(slot=TOP).exists()
    assert all_reads(rpc) == before


def body_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(octet_length(body)) FROM historical_block")
        return int(cursor.fetchone()[0])


def made_ledger(last: int = 400) -> int:
    """Blocks of every second slot below the last one; how many transactions they have."""
    blocks = [made_block(slot, slot - 2, transactions=3, seed=4) for slot in range(10, last, 2)]
    record_blocks(blocks, now=NOW)
    return 3 * len(blocks)


@pytest.mark.usefixtures("empty_ledger")
def test_the_schedule_seals_finished_ranges(settings: Any) -> None:
    count = made_ledger()
    settings.LEDGER_SEAL_SLOTS = 0
    tasks.seal_ledger()
    assert SealedRange.objects.count() == 0
    settings.LEDGER_SEAL_SLOTS, settings.LEDGER_SEAL_PERCENT = 128, 100
    for _ in range(3):
        tasks.seal_ledger()
    found = SealedRange.objects.order_by("first_slot").values_list("first_slot", "last_slot")
    assert list(found) == [(0, 127), (128, 255), (256, 383)]
    assert Transaction.objects.count() == 3 * 8 < count


@pytest.mark.usefixtures("empty_ledger")
def test_blocks_recorded_just_now_wait() -> None:
    made_ledger()
    remove_blocks(20, 20)
    now = datetime.now(UTC)
    record_blocks([made_block(20, 18, transactions=3, seed=4)], now=now)
    while seal_step(range_slots=128, now=now):
        pass
    assert set(Block.objects.exclude(body=None).values_list("slot", flat=True)) == {
        20,
        *range(384, 400, 2),
    }
    assert AddressEntries.objects.filter(first_slot__lt=64).exists()
    while seal_step(range_slots=128, now=now + timedelta(minutes=11)):
        pass
    assert Block.objects.exclude(body=None).count() == 8
    assert not AddressEntries.objects.filter(first_slot__lt=384).exists()


@pytest.mark.usefixtures("empty_ledger")
def test_a_block_that_cannot_be_read_stays_as_it_is(rpc: Rpc) -> None:
    made_ledger()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM historical_transaction WHERE slot = 30 AND position = 1")
    before = rpc(HISTORICAL, "getTransaction", signature_at(30, 0), V0)
    seal(128)
    kept = SealedRange.objects.order_by("first_slot").values_list("unsealable", flat=True)
    assert list(kept) == [[30], [], []]
    assert rpc(HISTORICAL, "getTransaction", signature_at(30, 0), V0) == before
    remove_blocks(30, 30)
    record_blocks([made_block(30, 28, transactions=3, seed=4)], now=NOW)
    seal(128)
    assert not Transaction.objects.filter(slot=30).exists()
    assert before["result"] == rpc(HISTORICAL, "getTransaction", signature_at(30, 0), V0)["result"]


def signature_at(slot: int, position: int) -> str:
    record = made_block(slot, slot - 2, transactions=3, seed=4)
    return b58encode(record.transactions[position].signature)


@pytest.mark.usefixtures("empty_ledger")
def test_retention_removes_what_is_sealed(rpc: Rpc) -> None:
    made_ledger()
    seal(128)
    retention.apply(archive_slots=0, ledger_slots=250)
    assert Block.objects.count() == SealedBlock.objects.count() + 8 == 125
    response = rpc(HISTORICAL, "getBlock", 148)
    assert response["error"]["data"]["firstAvailableBlock"] == 150
    assert rpc(HISTORICAL, "getTransaction", signature_at(140, 0), V0)["result"] is None
    address = b58encode(ACCOUNTS[1])
    listed = rpc(HISTORICAL, "getSignaturesForAddress", address)["result"]
    assert min(each["slot"] for each in listed) >= 150
    # A range that lies below the window as a whole is gone, with its index.
    assert set(SealedRange.objects.values_list("first_slot", flat=True)) == {128, 256}
    seal(128)
    assert {run.first_slot // 128 for run in IndexRun.objects.all()} == {1, 2}


@pytest.mark.usefixtures("empty_ledger")
def test_sealed_blocks_are_verified(rpc: Rpc) -> None:
    made_ledger()
    seal(128)
    assert list(checking.check_index(SlotRange(0, 400))) == []
    for slot in (20, 200):
        entries, fault = checking.read_transactions(slot)
        assert fault is None and len(entries) == 3
        faults = [each.what for each in checking.check_transactions(slot, entries, 3)]
        assert set(faults) <= {"wrong_signature"}  # of made transactions
    with connection.cursor() as cursor:
        cursor.execute("UPDATE historical_packedtexts SET frame = set_byte(frame, 60, 1)")
        cursor.execute("UPDATE historical_packedtexts SET frame = set_byte(frame, 61, 2)")
        cursor.execute("UPDATE historical_indexrun SET state = 2 WHERE kind = 2")
        cursor.execute("UPDATE historical_sealversion SET number = number + 1")
    recent_opened.forget()
    entries, fault = checking.read_transactions(200)
    assert fault is not None and fault.what == "unreadable"


@pytest.mark.usefixtures("empty_ledger")
def test_the_admin_shows_what_a_sealed_block_takes(admin_client: Any) -> None:
    made_ledger()
    seal(128)
    page = admin_client.get("/admin/historical/block/100/change/").content.decode()
    stored = SealedBlock.objects.get(slot=100).stored_bytes
    assert f'title="{stored:,} bytes, sealed"' in page
    assert (
        ", sealed" not in admin_client.get("/admin/historical/block/398/change/").content.decode()
    )


@pytest.mark.usefixtures("empty_ledger")
def test_ranges_of_another_length_do_not_overlap(rpc: Rpc) -> None:
    made_ledger(200)
    seal(128)
    blocks = [made_block(slot, slot - 2, transactions=3, seed=4) for slot in range(200, 1_300, 2)]
    record_blocks(blocks, now=NOW)
    seal(512)
    seal(64)
    found = SealedRange.objects.order_by("first_slot").values_list("first_slot", "last_slot")
    assert list(found) == [(0, 127), (128, 511), (512, 1_023), *RANGES_OF_64]
    assert rpc(HISTORICAL, "getTransaction", signature_at(150, 2), V0)["result"]["slot"] == 150


RANGES_OF_64 = [(first, first + 63) for first in range(1_024, 1_280, 64)]
