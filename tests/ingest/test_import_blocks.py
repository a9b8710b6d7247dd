"""manage.py import_blocks: files of blocks into the ledger, wholly or not at all."""

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chain.encodings import b58encode
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from historical.models import AddressEntries, Block, Gap, Import, Transaction
from tests import emptying
from tests.upstream import sample_blocks as sample

HISTORICAL = "/historical"
NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def empty_ledger(db: None) -> None:
    """No block in sight, whatever the session holds; rolled back with the test."""
    models = (Block, Transaction, AddressEntries, Import, Gap)
    emptying.truncate_filled([model._meta.db_table for model in models])


def given(arguments: tuple[Any, ...]) -> list[str]:
    """With the chain, unless a test names one, or none by an empty word at the end."""
    words = [str(each) for each in arguments]
    if words[-1] == "":
        return words[:-1]
    return words if "--genesis" in words else [*words, "--genesis", "mainnet"]


def run(*arguments: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_blocks", *given(arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(*arguments: Any) -> str:
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("import_blocks", *given(arguments), stdout=io.StringIO(), stderr=err)
    return err.getvalue()


def counts() -> tuple[int, int, int]:
    return Block.objects.count(), Transaction.objects.count(), AddressEntries.objects.count()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file("base64"))
    return path


def changed(path: Path, change: Any) -> Path:
    document = json.loads(path.read_bytes())
    change(document["result"])
    other = path.with_name(f"other-{sample.SLOT}.json")
    other.write_text(json.dumps(document))
    return other


@pytest.mark.parametrize("encoding", ["json", "base64", "base58", "base64+zstd"])
def test_a_block_reads_back_as_its_file_has_it(rpc, tmp_path, encoding):
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file(encoding))
    run(path)
    config = {"encoding": "json", "maxSupportedTransactionVersion": 0}
    assert rpc(HISTORICAL, "getBlock", sample.SLOT, config)["result"] == sample.block_json("json")


def test_importing_twice_changes_nothing(file):
    out, _ = run(file)
    assert "1 block imported with 2 transactions, slots 103 to 103" in out
    before = counts()
    rows = list(Block.objects.values_list("slot", "recorded_at"))
    out, _ = run(file)
    assert "0 blocks imported with 0 transactions, 1 there already" in out
    assert counts() == before
    assert list(Block.objects.values_list("slot", "recorded_at")) == rows
    assert [entry.state for entry in Import.objects.all()] == ["done", "done"]


def test_a_gap_that_was_given_up_closes_with_the_file_that_has_its_slots(file):
    ledger_gaps.open_gap(
        sample.PARENT + 1, sample.SLOT, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW
    )
    ledger_gaps.give_up([gap.pk for gap in ledger_gaps.open_gaps()], by="ada", now=NOW)
    run(file)
    assert ledger_gaps.open_gaps() == []
    filled = Gap.objects.get(to_slot=sample.SLOT)
    assert (filled.state, filled.closed_by) == ("closed", file.name)


def test_another_block_for_a_stored_slot_is_refused_and_both_are_named(file):
    run(file)
    before = counts()
    other = changed(file, lambda block: block.update(blockhash=sample.PREVIOUS))
    told = refused(other)
    assert "the file may be of another chain" in told
    assert sample.BLOCKHASH in told
    assert sample.PREVIOUS in told
    assert counts() == before


def test_a_cut_down_copy_of_a_stored_block_is_refused(file):
    run(file)
    other = changed(file, lambda block: block["transactions"].pop())
    assert "of 2 transactions; the file has" in refused(other)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (
            lambda block: block["transactions"][1].update(transaction=["!!!", "base64"]),
            "transactions[1].transaction",
        ),
        (lambda block: block.update(blockhash="short"), "blockhash"),
        (lambda block: block.update(blockTime="noon"), "blockTime"),
        (lambda block: block.pop("parentSlot"), "parentSlot"),
        (
            lambda block: block["transactions"][0]["meta"]["preBalances"].append(1),
            "transactions[0].meta.preBalances",
        ),
    ],
)
def test_a_broken_block_is_named_with_its_place_and_leaves_nothing(file, change, place):
    before = counts()
    told = refused(changed(file, change))
    assert place in told
    assert "nothing of this file was imported" in told
    assert counts() == before
    failed = Import.objects.get()
    assert failed.state == "failed"
    assert place in failed.failure


def test_a_file_broken_in_its_middle_leaves_nothing_of_its_first_blocks(fixtures, tmp_path):
    import zstandard

    packed = (fixtures / "blocks" / "mainnet-55065000-55065099.dbin.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().stream_reader(packed).read()
    path = tmp_path / "cut.dbin"
    path.write_bytes(plain[: len(plain) // 8])
    before = counts()
    told = refused(path)
    assert "block 13: the file ends inside this block" in told
    assert counts() == before
    assert Import.objects.get().state == "failed"


def test_a_file_cut_short_is_told_with_how_far_it_was_read(tmp_path):
    path = tmp_path / "cut.json.gz"
    path.write_bytes(gzip.compress(sample.json_file())[:-40])
    assert "ends too early" in refused(path) or "bytes of the file" in refused(path)


def test_a_folder_and_an_empty_file_are_told_in_plain_words(tmp_path):
    assert f"{tmp_path}: it is a folder; name the files in it" in refused(tmp_path)
    empty = tmp_path / "empty"
    empty.touch()
    assert f"{empty}: the file is empty" in refused(empty)
    assert Import.objects.first().failure == "the file is empty"


@pytest.mark.parametrize("slot", [10**20, 2**63, 500_000_000, sample.PARENT])
def test_a_slot_that_cannot_be_is_refused(file, slot):
    told = refused(file, "--slot", slot)
    assert f"slot {slot} is" in told
    assert counts() == (0, 0, 0)


def test_a_stored_block_is_refused_for_another_slot(file):
    run(file)
    told = refused(file, "--slot", sample.SLOT + 1)
    assert f"slot {sample.SLOT} already has block {sample.BLOCKHASH}" in told
    assert Block.objects.count() == 1


def test_what_a_killed_import_left_running_is_marked_by_the_next(file):
    left = Import.objects.create(file="left", started_at="2026-01-01T00:00:00Z")
    run(file)
    left.refresh_from_db()
    assert (left.state, left.failure) == ("failed", "stopped: the importing process was killed")


def test_a_removed_block_is_gone_from_everywhere_and_can_come_again(rpc, file):
    run(file)
    before = list(AddressEntries.objects.order_by("address").values_list())
    neighbour = changed(
        file,
        lambda block: block.update(
            blockhash=b58encode(bytes([9]) * 32),
            parentSlot=103,
            previousBlockhash=sample.BLOCKHASH,
        ),
    )
    run(neighbour, "--slot", 104)
    call_command("remove_blocks", "103", "103", stdout=io.StringIO())
    assert rpc(HISTORICAL, "getBlock", 103)["error"]["data"]["reason"] == "block_cleaned_up"
    address = sample.message_json(sample.WIRES[0])["accountKeys"][0]
    listed = rpc(HISTORICAL, "getSignaturesForAddress", address)["result"]
    assert {entry["slot"] for entry in listed} == {104}
    call_command("remove_blocks", "104", "200", stdout=io.StringIO())
    assert counts() == (0, 0, 0)
    run(file)
    assert list(AddressEntries.objects.order_by("address").values_list()) == before


def test_one_bad_file_does_not_stop_the_others(file, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    told = refused(bad, file)
    assert str(bad) in told
    assert Block.objects.filter(slot=sample.SLOT).exists()


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "absent.json" in refused(tmp_path / "absent.json")


def test_a_slot_can_be_told_and_a_guessed_one_is_said(tmp_path):
    path = tmp_path / "block.json"
    path.write_bytes(sample.json_file())
    _, err = run(path)
    assert f"parentSlot + 1 = {sample.PARENT + 1}" in err
    Block.objects.all().delete()
    Transaction.objects.all().delete()
    AddressEntries.objects.all().delete()
    run(path, "--slot", sample.SLOT)
    assert Block.objects.filter(slot=sample.SLOT).exists()
    with pytest.raises(CommandError, match="--slot names one block"):
        call_command("import_blocks", str(path), str(path), "--slot", "7")
