"""manage.py import_epoch: CAR epochs into the ledger, run by run."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from solders.hash import Hash

from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from historical.models import AddressEntries, Block, Import, Transaction
from ingest.services import epochs
from tests import emptying
from tests.upstream import car_files
from tests.upstream import sample_blocks as sample
from tests.upstream.test_car import MESSAGE, RECORD, car_of, chain


@pytest.fixture(autouse=True)
def empty_ledger(db: None) -> None:
    """No block in sight, whatever the session holds; rolled back with the test."""
    models = (Block, Transaction, AddressEntries, Import)
    emptying.truncate_filled([model._meta.db_table for model in models])


def given(arguments: tuple[Any, ...]) -> list[str]:
    """With the chain, unless a test names one."""
    words = [str(each) for each in arguments]
    return words if "--genesis" in words else [*words, "--genesis", "mainnet"]


def run(*arguments: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_epoch", *given(arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(*arguments: Any) -> str:
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("import_epoch", *given(arguments), stdout=io.StringIO(), stderr=err)
    return err.getvalue()


def slots() -> list[int]:
    return list(Block.objects.order_by("slot").values_list("slot", flat=True))


def chain_of(first: int, count: int) -> list[Any]:
    return chain(*((slot, max(slot - 1, 0)) for slot in range(first, first + count)))


def file(folder: Path, content: bytes, name: str = "epoch-0.car") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_mainnets_first_blocks_read_back_through_the_door(rpc: Any, fixtures: Path) -> None:
    path = fixtures / "blocks" / "mainnet-0-9.old-faithful.car"
    out, err = run(path)
    assert "10 blocks imported with 34 transactions, slots 0 to 9" in out and err == ""
    genesis = rpc("/historical", "getBlock", 0)["result"]
    assert genesis["blockhash"] == "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn"
    assert genesis["previousBlockhash"] == genesis["blockhash"]
    block = rpc("/historical", "getBlock", 9)["result"]
    assert len(block["transactions"]) == 3 and block["parentSlot"] == 8
    (entry,) = Import.objects.all()
    assert (entry.state, entry.format, entry.blocks_recorded) == ("done", "CAR epoch", 10)


def test_a_block_with_metas_reads_back_as_its_protobuf_has_it(rpc: Any, tmp_path: Path) -> None:
    writer = car_files.Writer()
    (parent,) = chain((sample.PARENT, sample.PARENT - 1))
    writer.block(parent, [])
    writer.block(RECORD, [each.meta for each in MESSAGE.transactions])
    path = file(tmp_path, writer.finished(sample.PARENT, sample.SLOT))
    told = refused(path)
    assert f"slot {sample.PARENT}: not taken: its previous blockhash" in told
    assert "1 block of this file could not be imported" in told
    config = {"encoding": "json", "maxSupportedTransactionVersion": 0}
    block = rpc("/historical", "getBlock", sample.SLOT, config)["result"]
    assert block["transactions"] == sample.block_json("json")["transactions"]
    assert block["previousBlockhash"] == parent.blockhash


def test_the_next_piece_of_an_epoch_goes_on_from_the_ledger(tmp_path: Path) -> None:
    records = chain_of(0, 300)
    first = file(tmp_path, car_of(records[:150]), "epoch-0-1.car")
    second = file(tmp_path, car_of(records[150:]), "epoch-0-2.car")
    out, err = run(first, second)
    assert err == "" and "150 blocks imported" in out
    assert slots() == list(range(300))


def test_a_gap_that_was_given_up_closes_with_the_epoch(tmp_path: Path) -> None:
    now = timezone.now()
    ledger_gaps.open_gap(120, 170, status=GapStatus.MISSING, cause="follower_down", now=now)
    ledger_gaps.give_up([gap.pk for gap in ledger_gaps.open_gaps(120, 170)], by="ada", now=now)
    run(file(tmp_path, car_of(chain_of(0, 300))))
    assert ledger_gaps.open_gaps(120, 170) == []


def test_importing_again_changes_nothing_and_reads_no_block(tmp_path: Path) -> None:
    path = file(tmp_path, car_of(chain_of(0, 300)))
    run(path)
    rows = list(Block.objects.order_by("slot").values_list("slot", "recorded_at"))
    out, _ = run(path)
    assert "0 blocks imported with 0 transactions, 300 there already" in out
    assert list(Block.objects.order_by("slot").values_list("slot", "recorded_at")) == rows
    assert [entry.blocks_present for entry in Import.objects.order_by("pk")] == [0, 300]


def test_a_damaged_file_leaves_the_runs_before_the_damage_and_goes_on_when_it_is_whole(
    tmp_path: Path,
) -> None:
    records = chain_of(0, 400)
    whole = car_of(records)
    damaged = bytearray(whole)
    damaged[whole.index(bytes.fromhex(_blockhash_hex(records[300])))] ^= 1
    path = file(tmp_path, bytes(damaged))
    words = refused(path)
    assert "slot 300, entries[0]: the bytes do not have the hash of their CID" in words
    assert "the blocks before it were imported" in words
    stored = slots()
    assert stored == list(range(256))
    (entry,) = Import.objects.all()
    assert (entry.state, entry.blocks_recorded, entry.last_slot) == ("failed", 256, 255)
    file(tmp_path, whole)
    out, _ = run(path)
    assert "144 blocks imported with 0 transactions, 256 there already" in out
    assert slots() == list(range(400))


def _blockhash_hex(record: Any) -> str:
    return bytes(Hash.from_string(record.blockhash)).hex()


def test_a_block_that_differs_from_the_stored_one_is_named(tmp_path: Path) -> None:
    run(file(tmp_path, car_of(chain_of(0, 3))))
    records = chain_of(0, 3)
    other = car_files.Writer()
    for record in records[:2]:
        other.block(record, [])
    (forked,) = chain((77, 1))
    other.block(replace(forked, slot=records[2].slot), [])
    words = refused(file(tmp_path, other.finished(0, 2), "other.car"))
    assert "slot 2 already has block" in words and "the file may be of another chain" in words
    assert slots() == [0, 1, 2]


def test_a_file_of_another_kind_is_sent_to_the_other_command(tmp_path: Path) -> None:
    path = file(tmp_path, sample.json_file("base64"), "block-103.json")
    assert "getBlock json, no CAR: use import_blocks" in refused(path)
    told = refused(tmp_path / "absent.car")
    assert "No such file" in told and "nothing was imported" in told
    told = refused(file(tmp_path, b"no CAR at all", "bad.car"))
    assert "nothing was imported" in told and "blocks before it" not in told
    assert "it is a folder" in refused(tmp_path)


def test_what_a_stop_leaves_is_told_in_the_imports(tmp_path: Path) -> None:
    path = file(tmp_path, car_of(chain_of(0, 300)))

    def stop(progress: epochs.EpochProgress) -> None:
        assert 0 < progress.position <= progress.size
        if progress.slot == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        epochs.import_epoch(path, genesis_hash="a chain", now=timezone.now, progress=stop)
    (entry,) = Import.objects.all()
    assert (entry.state, entry.failure) == ("failed", "stopped: KeyboardInterrupt")
    assert slots() == list(range(128))
