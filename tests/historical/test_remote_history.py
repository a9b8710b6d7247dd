"""Blocks below the ledger's own, from an archive of CAR epochs: answers, errors, limits."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from solders.hash import Hash
from solders.signature import Signature

from chain.blocks import SlotRecord
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.remote.services import remote_history
from ingest.chain_identity import claim
from ingest.known_chains import NAMES
from ingest.models import StoredChain
from rewind.models import ArchiveState
from tests.altered import altered
from tests.conftest import Rpc
from tests.historical.conftest import import_path
from tests.patience import PATIENCE_SECONDS
from tests.upstream import old_faithful_files as files
from tests.upstream import sample_blocks as sample
from tests.upstream.range_server import RangeServer, serving
from tests.upstream.test_car import MESSAGE, RECORD
from tests.upstream.test_old_faithful import AFTER, BEFORE, FIRST, LAST, PARENT, SIGNATURES
from tests.web_server import service_worker
from tests.webserver.client import Client, post
from tests.webserver.serving import serving as serving_web

HISTORICAL = "/historical"
# What the ledger stores itself: it goes on where the archive's slot 107 ends.
STORED = files.empty_blocks((108, 107), (110, 108))
OWN = replace(RECORD, previous_blockhash=PARENT.blockhash)
NEXT = replace(AFTER, previous_blockhash=OWN.blockhash)
READABLE = {"maxSupportedTransactionVersion": 0}
SIGNATURE = str(Signature.from_bytes(SIGNATURES[1]))


def record(*records: SlotRecord) -> None:
    record_blocks(records, now=timezone.now())


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Epoch 0: slots 99, 100, 101, 103, 105 and 107."""
    contents = [*map(files.bare, (FIRST, BEFORE, PARENT)), files.confirmed(RECORD, MESSAGE)]
    files.publish(tmp_path, [*contents, files.bare(AFTER), files.bare(LAST)])
    return tmp_path


@pytest.fixture
def server(archive: Path) -> Iterator[RangeServer]:
    with serving(archive) as found:
        yield found


@pytest.fixture
def no_chain(empty_ledger: None) -> Iterator[None]:
    """The database holds no chain yet; what other tests stored is there again afterwards."""
    StoredChain.objects.all().delete()
    ArchiveState.objects.update(filters_set_for="")
    remote_history._verdict.forget()
    yield
    remote_history._verdict.forget()


@pytest.fixture
def remote(server: RangeServer, settings: Any, no_chain: None) -> RangeServer:
    """The archive is served, and the ledger stores slots 108 and 110."""
    record(*STORED)
    settings.OLD_FAITHFUL_URL = server.url
    settings.OLD_FAITHFUL_SIGNATURE_EPOCHS = (0,)
    settings.OLD_FAITHFUL_TIMEOUT_SECONDS = int(PATIENCE_SECONDS)
    return server


CONFIGS = [
    {"encoding": encoding, "transactionDetails": details, "rewards": rewards, **READABLE}
    for encoding, details, rewards in product(
        ("json", "jsonParsed", "base58", "base64"),
        ("full", "accounts", "signatures", "none"),
        (True, False),
    )
    if details == "full" or encoding == "json"
]


@pytest.mark.parametrize("form", ["current", "source"])
def test_a_remote_block_reads_field_for_field_as_a_stored_one(
    form: str, rpc: Rpc, remote: RangeServer, settings: Any
) -> None:
    configs = [{**config, "form": form} for config in CONFIGS]
    slots = [100, 101, 103, 105]
    calls = [
        (str(Signature.from_bytes(each)), {"encoding": encoding, "form": form, **READABLE})
        for each in SIGNATURES
        for encoding in ("json", "jsonParsed", "base58", "base64")
    ]
    far = [rpc(HISTORICAL, "getBlock", slot, each) for slot in slots for each in configs]
    times = [rpc(HISTORICAL, "getBlockTime", slot) for slot in slots]
    entries = [rpc(HISTORICAL, "getTransaction", *each) for each in calls]
    settings.OLD_FAITHFUL_URL = ""
    assert rpc(HISTORICAL, "getBlock", 103)["error"]["code"] == -32001
    record(BEFORE, PARENT, OWN, NEXT)
    assert far == [rpc(HISTORICAL, "getBlock", slot, each) for slot in slots for each in configs]
    assert times == [rpc(HISTORICAL, "getBlockTime", slot) for slot in slots]
    assert entries == [rpc(HISTORICAL, "getTransaction", *each) for each in calls]
    assert all(each["result"] for each in entries)


def test_mainnets_first_blocks_read_as_imported_ones(
    rpc: Rpc, fixtures: Path, tmp_path: Path, settings: Any, no_chain: None
) -> None:
    path = fixtures / "blocks" / "mainnet-0-9.old-faithful.car"
    car = path.read_bytes()
    *_, (_, _, root, _) = files.sections(car)
    files.publish_car(tmp_path, 0, car, root)
    settings.OLD_FAITHFUL_URL = f"file://{tmp_path}"
    far = [rpc(HISTORICAL, "getBlock", slot) for slot in range(10)]
    assert rpc(HISTORICAL, "getBlocks", 0, 20)["result"] == list(range(10))
    assert rpc(HISTORICAL, "getFirstAvailableBlock")["result"] == 0
    settings.OLD_FAITHFUL_URL = ""
    import_path(path)
    assert far == [rpc(HISTORICAL, "getBlock", slot) for slot in range(10)]


def test_versions_that_a_caller_cannot_read_are_refused(rpc: Rpc, remote: RangeServer) -> None:
    for call in (("getBlock", sample.SLOT), ("getTransaction", SIGNATURE)):
        error = rpc(HISTORICAL, *call)["error"]
        assert (error["code"], error["data"]["found"]) == (-32015, 0)
        assert "result" in rpc(HISTORICAL, *call, READABLE)


def test_responses_name_the_archive(posted: Any, remote: RangeServer) -> None:
    def source(method: str, *params: Any) -> str | None:
        answer = posted(method, *params)
        assert "X-History-Source" in answer.headers["Access-Control-Expose-Headers"]
        found: str | None = answer.headers.get("X-History-Source")
        return found

    assert source("getBlock", 101) == "old-faithful" == source("getBlock", 101)
    assert source("getBlockTime", 101) == "old-faithful"
    assert source("getBlocks", 90, 200) == "old-faithful"
    assert source("getBlocksWithLimit", 90, 2) == "old-faithful"
    assert source("getTransaction", SIGNATURE, READABLE) == "old-faithful"
    assert source("getFirstAvailableBlock") == "old-faithful"
    assert source("getBlock", 108) is None and source("getBlocks", 108, 110) is None
    assert source("getBlock", 102) is None


def test_skipped_slots_are_named_as_a_node_names_them(rpc: Rpc, remote: RangeServer) -> None:
    for method in ("getBlock", "getBlockTime"):
        for slot, code, reason in (
            (102, -32007, "slot_skipped"),
            (106, -32007, "slot_skipped"),
            (109, -32007, "slot_skipped"),  # by the ledger
            (111, -32004, "block_not_available"),
        ):
            error = rpc(HISTORICAL, method, slot)["error"]
            assert (error["code"], error["data"]["reason"]) == (code, reason)


def test_a_slot_that_the_archive_should_have_is_no_skipped_one(
    rpc: Rpc, remote: RangeServer
) -> None:
    for slot in (50, 98):  # block 99 follows 98
        error = rpc(HISTORICAL, "getBlock", slot)["error"]
        assert (error["code"], error["data"]["reason"]) == (-32019, "remote_history_damaged")


def test_slots_are_those_of_both(rpc: Rpc, remote: RangeServer) -> None:
    far = [99, 100, 101, 103, 105, 107]
    for first, last in ((0, None), (0, 200), (99, 110), (100, 107), (101, 101), (104, 108)):
        params = [first] if last is None else [first, last]
        expected = [slot for slot in (*far, 108, 110) if first <= slot <= (last or 1_000)]
        assert rpc(HISTORICAL, "getBlocks", *params)["result"] == expected
    for first, limit in ((0, 3), (100, 6), (0, 500), (108, 2), (111, 4), (5, 0)):
        expected = [slot for slot in (*far, 108, 110) if slot >= first][:limit]
        assert rpc(HISTORICAL, "getBlocksWithLimit", first, limit)["result"] == expected


def test_ranges_that_were_never_stored_come_from_the_archive(rpc: Rpc, remote: RangeServer) -> None:
    record(BEFORE, NEXT)  # 100 and 105: 101 and 103 are missing between them
    assert rpc(HISTORICAL, "getBlock", 103, READABLE)["result"]["blockhash"] == OWN.blockhash
    assert rpc(HISTORICAL, "getBlockTime", 101)["result"] == PARENT.block_time
    assert rpc(HISTORICAL, "getBlock", 104)["error"]["code"] == -32007
    assert rpc(HISTORICAL, "getBlocks", 100, 108)["result"] == [100, 101, 103, 105, 107, 108]
    # The archive's list is whole: there is no hole, though the ledger has one.
    strict = {"gaps": "error"}
    for config in ({}, strict):
        listed = rpc(HISTORICAL, "getBlocks", 100, 108, config)["result"]
        assert listed == [100, 101, 103, 105, 107, 108]
    assert rpc(HISTORICAL, "getBlocksWithLimit", 100, 4, strict)["result"] == [100, 101, 103, 105]
    gaps = rpc(HISTORICAL, "getLedgerCoverage")["result"]["value"]["gaps"]
    assert [each["fromSlot"] for each in gaps] == [101, 103, 106, 107]
    before = len(remote.requests)
    assert rpc(HISTORICAL, "getBlocks", 105, 105)["result"] == [105]
    assert len(remote.requests) == before
    remove_blocks(100, 105)


def test_an_empty_ledger_serves_the_archive(rpc: Rpc, remote: RangeServer) -> None:
    remove_blocks(108, 110)
    assert rpc(HISTORICAL, "getBlock", 101)["result"]["blockhash"] == PARENT.blockhash
    assert rpc(HISTORICAL, "getBlocks", 0)["result"] == [99, 100, 101, 103, 105, 107]
    assert rpc(HISTORICAL, "getBlocksWithLimit", 104, 100)["result"] == [105, 107]
    assert rpc(HISTORICAL, "getFirstAvailableBlock")["result"] == 99
    # Its end is not known: a slot behind its last block may be missing as well.
    assert rpc(HISTORICAL, "getBlock", 108)["error"]["code"] == -32009
    assert rpc(HISTORICAL, "getBlock", 432_000)["error"]["code"] == -32004


def test_a_block_that_does_not_fit_the_ledgers_is_refused(rpc: Rpc, remote: RangeServer) -> None:
    remove_blocks(108, 110)
    (forked,) = files.empty_blocks((106, 105))
    record(replace(forked, parent_slot=101, slot=102))  # it names another block 101
    error = rpc(HISTORICAL, "getBlock", 101)["error"]
    assert (error["code"], error["data"]) == (
        -32019,
        {"reason": "remote_history_damaged", "slot": 101},
    )
    assert "result" in rpc(HISTORICAL, "getBlock", 100)


@pytest.mark.parametrize("stored", ["mainnet", "devnet", "a private one"])
def test_an_archive_of_another_chain_is_not_read(
    stored: str, rpc: Rpc, remote: RangeServer, caplog: Any
) -> None:
    genesis = NAMES.get(stored, str(Hash.hash(b"private")))
    claim(genesis, source="a test", now=timezone.now())
    answer = rpc(HISTORICAL, "getBlock", 101)
    coverage = rpc(HISTORICAL, "getLedgerCoverage")["result"]["value"]
    if stored == "mainnet":
        assert answer["result"]["blockhash"] == PARENT.blockhash and coverage["remote"]
    else:
        assert answer["error"]["code"] == -32001 and coverage["remote"] is None
        assert remote.requests == []
        assert "OLD_FAITHFUL_NETWORK=mainnet is not the ledger's chain" in caplog.text


def test_a_signature_is_looked_for_in_the_epochs_that_are_named(
    rpc: Rpc, remote: RangeServer, settings: Any
) -> None:
    found = rpc(HISTORICAL, "getTransaction", SIGNATURE, READABLE)["result"]
    assert (found["slot"], found["transactionIndex"]) == (sample.SLOT, 1)
    assert rpc(HISTORICAL, "getTransaction", str(Signature.default()))["result"] is None
    settings.OLD_FAITHFUL_SIGNATURE_EPOCHS = ()
    number = len(remote.requests)
    assert rpc(HISTORICAL, "getTransaction", SIGNATURE, READABLE)["result"] is None
    assert len(remote.requests) == number
    settings.OLD_FAITHFUL_SIGNATURE_EPOCHS = (7, 0)  # the archive has no epoch 7
    assert rpc(HISTORICAL, "getTransaction", SIGNATURE, READABLE)["result"] == found


def test_coverage_names_the_remote_range(rpc: Rpc, remote: RangeServer, settings: Any) -> None:
    number = len(remote.requests)
    answer = rpc(HISTORICAL, "getLedgerCoverage")["result"]
    assert answer["context"]["slot"] == 110
    assert answer["value"] == {
        "firstSlot": 108,
        "lastSlot": 110,
        "missingSlotCount": 0,
        "gaps": [],
        "truncated": False,
        "storage": [{"band": "hot", "firstSlot": 108, "lastSlot": 110}],
        "remote": {
            "firstSlot": 0,
            "lastSlot": 107,
            "source": "old-faithful",
            "network": "mainnet",
            "signatureEpochs": [0],
        },
    }
    remove_blocks(108, 110)
    empty = rpc(HISTORICAL, "getLedgerCoverage")["result"]["value"]
    assert (empty["firstSlot"], empty["remote"]["lastSlot"]) == (None, None)
    assert len(remote.requests) == number
    settings.OLD_FAITHFUL_URL = ""
    assert rpc(HISTORICAL, "getLedgerCoverage")["result"]["value"]["remote"] is None
    assert rpc(HISTORICAL, "getFirstAvailableBlock")["error"]["code"] == -32011


@pytest.mark.parametrize("fault", ["404", "500", "short", "broken off", "no ranges", "hang"])
def test_a_fault_is_an_error_for_what_lies_there_and_nothing_else(
    fault: str, rpc: Rpc, remote: RangeServer, settings: Any, caplog: Any
) -> None:
    settings.OLD_FAITHFUL_TIMEOUT_SECONDS = 1
    remote.faults[".car"] = fault
    unavailable = (-32019, "remote_history_unavailable")
    for call in (("getBlock", 101), ("getBlockTime", 101), ("getTransaction", SIGNATURE)):
        error = rpc(HISTORICAL, *call)["error"]
        assert (error["code"], error["data"]["reason"]) == unavailable, call
        assert "127.0.0.1" not in json.dumps(error)
    assert "remote history cannot be read: 0/epoch-0.car" in caplog.text
    assert rpc(HISTORICAL, "getBlock", 108)["result"]["blockhash"] == STORED[0].blockhash
    assert rpc(HISTORICAL, "getBlocks", 108, 110)["result"] == [108, 110]
    remote.faults.clear()
    remote.release.set()
    # An archive that let a request time out is asked again a second later.
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "error" in rpc(HISTORICAL, "getBlock", 101) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert rpc(HISTORICAL, "getBlock", 101)["result"]["blockhash"] == PARENT.blockhash


def test_a_redirect_is_followed(rpc: Rpc, remote: RangeServer) -> None:
    remote.faults["/"] = "redirect"
    assert rpc(HISTORICAL, "getBlock", 101)["result"]["blockhash"] == PARENT.blockhash


def test_a_flipped_bit_is_named_and_what_was_read_is_not_kept(
    rpc: Rpc, remote: RangeServer, archive: Path
) -> None:
    path = archive / "0" / "epoch-0.car"
    whole = path.read_bytes()
    files.damaged(path, whole.index(RECORD.transactions[0].wire))
    error = rpc(HISTORICAL, "getBlock", 103, READABLE)["error"]
    assert error["message"] == "Failed to query long-term storage: its data is damaged"
    assert error["data"] == {"reason": "remote_history_damaged", "slot": 103}
    assert rpc(HISTORICAL, "getBlock", 101)["result"]["blockhash"] == PARENT.blockhash
    path.write_bytes(whole)
    assert rpc(HISTORICAL, "getBlock", 103, READABLE)["result"]["blockhash"] == OWN.blockhash


def test_a_warm_block_is_not_read_again(rpc: Rpc, remote: RangeServer) -> None:
    first = rpc(HISTORICAL, "getBlock", 103, READABLE)
    number = len(remote.requests)
    assert rpc(HISTORICAL, "getBlock", 103, READABLE) == first
    assert rpc(HISTORICAL, "getBlock", 103, {**READABLE, "encoding": "base64"})["result"]
    assert len(remote.requests) == number


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("nothing_remembered")
def test_a_slow_archive_holds_up_no_other_call(
    known: bool, server: RangeServer, api_key: str, settings: Any
) -> None:
    StoredChain.objects.all().delete()
    ArchiveState.objects.update(filters_set_for="")
    remote_history._verdict.forget()
    record(*STORED)
    settings.OLD_FAITHFUL_URL = server.url
    settings.OLD_FAITHFUL_TIMEOUT_SECONDS = 300
    server.faults["epoch-0"] = "hang"
    authorized = [f"Authorization: {api_key}", "Content-Type: application/json"]

    def ask(port: int, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        with Client(port) as client:
            client.send(post(HISTORICAL, json.dumps(body).encode(), *authorized))
            return client.reply().json

    with serving_web(service_worker()) as port, ThreadPoolExecutor(24) as pool:
        if known:
            ask(port, "getLedgerCoverage")  # the key is known: calls run on the event loop
        slow = [pool.submit(ask, port, "getBlock", 101) for _ in range(8)]
        slow += [pool.submit(ask, port, "getBlockTime", 101) for _ in range(8)]
        slow += [pool.submit(ask, port, "getBlocks", 90, 105) for _ in range(8)]
        server.hanging.wait()
        # They would occupy all threads for quick and for expensive calls.
        for _ in range(10):
            assert ask(port, "getBlockTime", 108)["result"] == STORED[0].block_time
            assert ask(port, "getBlock", 108)["result"]["blockhash"] == STORED[0].blockhash
        assert not all(each.done() for each in slow)
        server.release.set()
        answers = [each.result() for each in slow]
    busy = [each["error"]["data"]["reason"] for each in answers if "error" in each]
    # Of one caller 16 wait; of those that came before its key was known, in threads, only two.
    assert set(busy) == {"remote_history_busy"} and len(busy) >= 8
    for each in answers:
        found = each.get("result", PARENT.block_time)
        found = found["blockhash"] if isinstance(found, dict) else found
        assert found in (PARENT.blockhash, PARENT.block_time, [99, 100, 101, 103, 105])


def test_what_was_not_signed_is_not_served(
    rpc: Rpc, tmp_path: Path, settings: Any, no_chain: None
) -> None:
    """The archive's hashes are right: it was published so."""
    wire = altered(RECORD.transactions[1].decoded, "flipped_signature", Random(1))
    changed = [RECORD.transactions[0], replace(RECORD.transactions[1], content=wire)]
    contents = [*map(files.bare, (FIRST, BEFORE, PARENT)), files.confirmed(RECORD, MESSAGE)]
    contents[3] = (replace(contents[3][0], transactions=changed), *contents[3][1:])
    files.publish(tmp_path, [*contents, files.bare(AFTER)])
    settings.OLD_FAITHFUL_URL = f"file://{tmp_path}"
    settings.OLD_FAITHFUL_SIGNATURE_EPOCHS = (0,)
    signature = str(Signature.from_bytes(wire.signatures[0]))
    calls: list[tuple[Any, ...]] = [("getTransaction", signature, READABLE)]
    for details in ("full", "accounts", "signatures"):
        calls.append(("getBlock", sample.SLOT, {"transactionDetails": details, **READABLE}))
    for call in calls:
        error = rpc(HISTORICAL, *call)["error"]
        assert (error["code"], error["data"]["reason"]) == (-32019, "remote_history_damaged")
    whole = rpc(HISTORICAL, "getTransaction", str(Signature.from_bytes(SIGNATURES[0])), READABLE)
    assert whole["result"]["slot"] == sample.SLOT
