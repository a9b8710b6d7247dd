"""Which of the ledger's slots are hot, sealed or remote, as callers and staff are told."""

from typing import Any

import pytest

from historical.models import SealedRange
from historical.recording.services.recording import record_blocks
from historical.remote.services import remote_history
from ingest.models import StoredChain
from rewind.models import ArchiveState
from tests.conftest import Rpc
from tests.rewind.samples import block

from .sealed_reads import HISTORICAL, NOW, seal

RANGE = 6_400
pytestmark = pytest.mark.usefixtures("empty_ledger")


def bands(rpc: Rpc) -> list[tuple[str, int, int]]:
    found = rpc(HISTORICAL, "getLedgerCoverage")["result"]["value"]["storage"]
    return [(each["band"], each["firstSlot"], each["lastSlot"]) for each in found]


def fill() -> None:
    parent = 99
    for slot in (100, 105, RANGE + 50, 2 * RANGE + 70):
        record_blocks([block(slot, parent, transactions=2)], now=NOW)
        parent = slot


def test_nothing_stored_has_no_bands(rpc: Rpc) -> None:
    assert bands(rpc) == []


def test_ranges_become_sealed_from_below(rpc: Rpc, admin_client: Any, settings: Any) -> None:
    fill()
    last = 2 * RANGE + 70
    assert bands(rpc) == [("hot", 100, last)]
    while not SealedRange.objects.filter(blocks__gt=0):
        seal(RANGE, most=1)
    assert bands(rpc) == [("sealed", 100, RANGE - 1), ("hot", RANGE, last)]
    seal(RANGE)
    assert bands(rpc) == [("sealed", 100, 2 * RANGE - 1), ("hot", 2 * RANGE, last)]
    StoredChain.objects.all().delete()  # of another test's chain
    ArchiveState.objects.update(filters_set_for="")
    remote_history._verdict.forget()
    settings.OLD_FAITHFUL_URL = "https://old-faithful.example"
    strips = admin_client.get("/admin/rewind/slottally/").context["strips"]
    assert [(line["band"], line["slots"]) for line in strips[1]["cells"]] == [
        ("remote", (0, 99)),
        ("sealed", (100, 2 * RANGE - 1)),
        ("hot", (2 * RANGE, last)),
    ]


def test_a_block_that_cannot_be_sealed_ends_no_band(rpc: Rpc) -> None:
    fill()
    while not SealedRange.objects.exists():
        seal(RANGE, most=1)
    SealedRange.objects.update(unsealable=[105])
    seal(RANGE)
    assert bands(rpc)[0] == ("sealed", 100, 2 * RANGE - 1)


RANGES = "/admin/historical/sealedrange/"


def test_a_sealed_range_is_listed_with_what_it_holds(
    admin_client: Any, django_assert_max_num_queries: Any
) -> None:
    fill()
    seal(RANGE)
    SealedRange.objects.filter(first_slot=0).update(unsealable=[105])
    with django_assert_max_num_queries(10) as asked:
        page = admin_client.get(RANGES)
    rows = page.context["cl"].result_list
    assert [(row.first_slot, row.transactions, row.runs) for row in rows] == [
        (RANGE, 2, 2),
        (0, 4, 2),
    ]
    for query in asked.captured_queries:
        assert '"keys",' not in query["sql"]
    text = page.content.decode()
    assert "Blocks that cannot be read completely: 105." in text
    found = admin_client.get(RANGES, {"q": "6,401"}).context["cl"].result_list
    assert [row.first_slot for row in found] == [RANGE]
    text = admin_client.get(f"{RANGES}{rows[0].pk}/change/").content.decode()
    assert f"{rows[0].packed_bytes / 2:.1f}" in text
