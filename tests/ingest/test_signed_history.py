"""History is what was signed: altered transactions of files and nodes are refused by name."""

import io
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58encode
from chain.transactions import Wire
from gaps.slot_gap import GapStatus
from historical.models import Block, UnsignedBlock
from historical.models import Gap as LedgerGap
from historical.recording.services.recording import record_blocks
from ingest import chain_identity
from ingest.models import Finding
from ingest.services import filling
from ingest.services.slots import ingest_waiting, open_gaps
from tests.altered import ALTERATIONS, altered, getblock_result, made
from tests.conftest import Rpc
from tests.examples import examples
from tests.ingest.block_nodes import GENESIS_HASH, node_of
from tests.ingest.queued import enqueue
from tests.ingest.test_import_blocks import empty_ledger
from tests.upstream import car_files
from upstream.archives.json_dumps import json_block

__all__ = ["empty_ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]
SLOT = 447_600_001
V1 = {"maxSupportedTransactionVersion": 1}


def wires(*versions: Any, seed: int = 36) -> list[Wire]:
    """Signed transactions of these versions, without lookups."""
    chance, found = Random(seed), []
    for version in versions:
        while True:
            wire = made(chance)
            if wire.version == version and not wire.lookups:
                found.append(wire)
                break
    return found


def signature(wire: Wire) -> str:
    return b58encode(wire.signatures[0])


def record(slot: int, *held: Wire) -> SlotRecord:
    answer = {"jsonrpc": "2.0", "id": 1, "result": getblock_result(slot, held)}
    return json_block(json.dumps(answer).encode(), given=slot, name="")[0]


def import_blocks(folder: Path, *blocks: dict[str, Any]) -> str:
    """What the command writes, if it succeeds, of one file with these blocks."""
    path = folder / "blocks.json"
    path.write_text(json.dumps([{"result": block} for block in blocks]))
    words = ["--slot", str(blocks[0]["parentSlot"] + 1)] if len(blocks) == 1 else []
    out = io.StringIO()
    call_command("import_blocks", *words, "--genesis", "mainnet", str(path), stdout=out, stderr=out)
    return out.getvalue()


def refused(folder: Path, *blocks: dict[str, Any]) -> str:
    out = io.StringIO()
    path = folder / "blocks.json"
    path.write_text(json.dumps([{"result": block} for block in blocks]))
    with pytest.raises(CommandError):
        call_command("import_blocks", "--genesis", "mainnet", str(path), stdout=out, stderr=out)
    assert not Block.objects.exists() and not UnsignedBlock.objects.exists()
    return out.getvalue()


def verify(first: int, last: int) -> tuple[str, set[tuple[str, int]]]:
    out = io.StringIO()
    try:
        call_command("verify_range", str(first), str(last), "--ledger-only", stdout=out)
    except CommandError as error:
        out.write(str(error))
    found = Finding.objects.filter(order__first_slot=first).values_list("what", "slot")
    return out.getvalue(), set(found)


def test_a_file_with_altered_transactions_is_refused_and_names_the_first(tmp_path: Path) -> None:
    held = wires("legacy", "legacy", 1, 0)
    changed = altered(held[1], "another_amount", Random(1))
    lost = replace(held[2], version=0, config=None)
    said = refused(tmp_path, getblock_result(SLOT, [held[0], changed, lost, held[3]]))
    assert f"slot {SLOT}, transactions[1] ({signature(held[1])}): a signature does not" in said
    assert f"; transactions[2] ({signature(lost)}): a signature does not" in said
    assert "nothing of this file was imported" in said
    many = [replace(each, recent_blockhash=bytes(32)) for each in wires(0, 0, 0, 0, 0)]
    assert "; and 2 more" in refused(tmp_path, getblock_result(SLOT, many))
    said = refused(tmp_path, getblock_result(SLOT, held), getblock_result(SLOT + 1, [lost]))
    assert f"slot {SLOT + 1}, transactions[0] ({signature(lost)})" in said
    assert "downgraded version (version 1 handed on as version 0" in said
    assert "1 block imported with 4" in import_blocks(tmp_path, getblock_result(SLOT, held))


@settings(max_examples=examples(45), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**64).map(Random), st.sampled_from(sorted(ALTERATIONS)))
def test_no_altered_transaction_of_a_file_is_imported(
    tmp_path: Path, chance: Random, kind: str
) -> None:
    held = [made(chance) for _ in range(3)]
    at = chance.randrange(3)
    held[at] = altered(held[at], kind, chance)
    said = refused(tmp_path, getblock_result(SLOT, held))
    assert f"transactions[{at}] ({signature(held[at])}): a signature does not verify" in said


def test_a_block_with_one_transaction_twice_is_refused_by_name(
    tmp_path: Path, settings: Any
) -> None:
    held = wires("legacy", 0)
    twice = getblock_result(SLOT, [*held, held[0]])
    why = f"({signature(held[0])}): the transaction is in the block already, at index 0"
    for keeps in (False, True):
        settings.LEDGER_KEEP_UNSIGNED = keeps
        assert f"transactions[2] {why}" in refused(tmp_path, twice)


def test_an_epoch_with_an_altered_transaction_stops_before_it(tmp_path: Path) -> None:
    held = wires("legacy", 0)
    changed = altered(held[1], "flipped_signature", Random(2))
    writer = car_files.Writer()
    for slot, content in ((128, held), (256, [held[0], changed])):
        bare = [TransactionRecord(each, None) for each in content]
        writer.block(replace(record(slot), transactions=bare), [None] * len(bare))
    path = tmp_path / "epoch.car"
    path.write_bytes(writer.finished(128, 256))
    record_blocks([record(127), record(255)], now=timezone.now())
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("import_epoch", "--genesis", "mainnet", str(path), stdout=out, stderr=out)
    assert f"slot 256, transactions[1] ({signature(changed)})" in out.getvalue()
    assert set(Block.objects.values_list("slot", flat=True)) == {127, 128, 255}


def test_what_is_kept_is_marked_wherever_it_is_served(
    rpc: Rpc, tmp_path: Path, settings: Any
) -> None:
    settings.LEDGER_KEEP_UNSIGNED = True
    held = wires("legacy", "legacy", 0)
    held[1] = altered(held[1], "another_amount", Random(3))
    assert "1 block imported" in import_blocks(tmp_path, getblock_result(SLOT, held))
    for number, wire in enumerate(held):
        one = rpc("/historical", "getTransaction", signature(wire), V1)["result"]
        assert one["meta"].get("unsigned", False) is (number == 1)
    for encoding in ("json", "jsonParsed", "base64"):
        block = rpc("/historical", "getBlock", SLOT, {**V1, "encoding": encoding})["result"]
        metas = [entry["meta"] for entry in block["transactions"]]
        assert [meta.get("unsigned") for meta in metas] == [None, True, None]
    assert list(UnsignedBlock.objects.values_list("slot", "positions")) == [(SLOT, [1])]
    _, found = verify(SLOT, SLOT)
    assert found == {("wrong_signature", SLOT)}
    call_command("remove_blocks", str(SLOT), str(SLOT), stdout=io.StringIO())
    assert not UnsignedBlock.objects.exists()


def test_a_transaction_that_cannot_be_marked_is_refused(tmp_path: Path, settings: Any) -> None:
    settings.LEDGER_KEEP_UNSIGNED = True
    block = getblock_result(SLOT, [altered(*wires("legacy"), "another_blockhash", Random(4))])
    block["transactions"][0]["meta"] = None
    assert "a signature does not verify" in refused(tmp_path, block)


def fill(*urls: str, settings: Any) -> LedgerGap | None:
    """One attempt at a gap of SLOT from these nodes; the gap, if it is still open."""
    if list(urls) != settings.FILL_RPC_URLS:  # each change is one more layer of settings
        settings.FILL_RPC_URLS, settings.UPSTREAM_GEYSER_URL = list(urls), ""
    chain_identity.claim(GENESIS_HASH, source="test", now=timezone.now())
    LedgerGap.objects.all().delete()
    open_gaps(SLOT, SLOT, status=GapStatus.MISSING, cause="refused", now=timezone.now())
    LedgerGap.objects.update(next_try_at=timezone.now())
    filling.fill_due_gaps(now=timezone.now)
    return LedgerGap.objects.filter(closed_at__isnull=True).first()


@pytest.fixture
def no_chain(empty_redis: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ingest_storedchain; DELETE FROM rewind_gap")


@pytest.mark.usefixtures("no_chain")
def test_a_block_of_a_node_that_downgrades_comes_from_another_one(rpc: Rpc, settings: Any) -> None:
    held = wires("legacy", 1, 0)
    lost = [held[0], replace(held[1], version=0, config=None), held[2]]
    old, new = {SLOT: getblock_result(SLOT, lost)}, {SLOT: getblock_result(SLOT, held)}
    with node_of(old) as old_url, node_of(new) as new_url:
        left = fill(old_url, settings=settings)
        assert left is not None and not Block.objects.exists()
        assert "downgraded version" in str(left.history[-1])
        for keeps in (False, True):
            settings.LEDGER_KEEP_UNSIGNED = keeps
            assert fill(old_url, new_url, settings=settings) is None
            entries = rpc("/historical", "getBlock", SLOT, V1)["result"]["transactions"]
            assert [entry["version"] for entry in entries] == ["legacy", 1, 0]
            assert not UnsignedBlock.objects.exists()
            call_command("remove_blocks", str(SLOT), str(SLOT), stdout=io.StringIO())
        assert fill(old_url, settings=settings) is None
        assert UnsignedBlock.objects.get().positions == [1]


@pytest.mark.usefixtures("no_chain")
def test_no_altered_transaction_of_a_node_is_stored(settings: Any) -> None:
    chance = Random(5)
    blocks: dict[int, Any] = {}
    with node_of(blocks) as url:
        for kind in ALTERATIONS:
            held = [made(chance) for _ in range(3)]
            at = chance.randrange(3)
            held[at] = altered(held[at], kind, chance)
            blocks[SLOT] = getblock_result(SLOT, held)
            left = fill(url, settings=settings)
            assert left is not None and not Block.objects.exists()
            assert f"transactions[{at}]" in str(left.history[-1])


@pytest.mark.usefixtures("empty_redis")
@pytest.mark.parametrize("verifies", [False, True])
def test_a_streams_slots_are_verified_where_that_is_wanted(verifies: bool, settings: Any) -> None:
    settings.VERIFY_STREAM_SIGNATURES = verifies
    changed = altered(*wires("legacy"), "another_amount", Random(6))
    enqueue(record(SLOT, changed), record(SLOT + 1, *wires(0, 1)))
    result = ingest_waiting(now=timezone.now, seconds=5.0)
    assert set(result.refused) == ({SLOT} if verifies else set())
    assert result.stored == 2 - verifies
    if verifies:
        assert f"({signature(changed)}): a signature does not verify" in result.refused[SLOT]
        assert LedgerGap.objects.get(closed_at__isnull=True).from_slot == SLOT


def test_verify_range_names_what_is_not_as_it_was_signed(tmp_path: Path) -> None:
    held = wires("legacy", "legacy", 1, 0, "legacy", "legacy")
    changed = altered(held[1], "another_amount", Random(7))
    lost = replace(held[2], version=0, config=None)
    record_blocks(
        [
            record(SLOT, held[0], changed),
            record(SLOT + 1, lost, held[3]),
            record(SLOT + 2, *held[4:]),
        ],
        now=timezone.now(),
    )
    said, found = verify(SLOT, SLOT + 2)
    assert found == {("wrong_signature", SLOT), ("downgraded_version", SLOT + 1)}
    assert f"a signature does not verify (transaction 1, {signature(held[1])})" in said
    assert f"(transaction 0, {signature(lost)})" in said
    assert "1 slots are correct" in said
    assert "the signatures of 6 transactions were verified" in said
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE historical_transaction SET signature = %s WHERE slot = %s AND position = 1",
            [held[4].signatures[0], SLOT + 2],
        )
    _, found = verify(SLOT + 2, SLOT + 2)
    assert found == {("wrong_index", SLOT + 2)}


def test_verify_range_finds_a_transaction_that_a_block_has_twice(tmp_path: Path) -> None:
    """A block that was stored before such blocks were refused."""
    (one,) = wires("legacy")
    record_blocks([record(SLOT + 1, one)], now=timezone.now())
    _twice(SLOT + 1)
    said, found = verify(SLOT + 1, SLOT + 1)
    assert ("duplicate_transaction", SLOT + 1) in found
    assert f"(transactions 0 and 1, {signature(one)})" in said


def _twice(slot: int) -> None:
    """The block's only transaction stands in it twice."""
    from historical.blocks import bodies as block_bodies
    from historical.transactions.texts import text_of

    entry = record(slot, *wires("legacy")).transactions[0]
    body = block_bodies.pack([text_of(entry, record(slot).form).text] * 2)
    columns = "slot, position, start, length, frame, err, memo, signature"
    place = body.places[1]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE historical_block SET body = %s, frames = %s, transaction_count = 2"
            " WHERE slot = %s",
            [body.data, body.frames, slot],
        )
        cursor.execute(
            f"INSERT INTO historical_transaction ({columns}) SELECT slot, 1, %s, %s, %s, err, memo,"
            " signature FROM historical_transaction WHERE slot = %s",
            [place.start, place.length, place.frame, slot],
        )
