"""manage.py archive_repair, and what the admin and the alarms say of damage."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from historical.models import LedgerDamage
from operations.exposition import exposed
from operations.readings.present import read
from operations.services import alarms
from rewind.models import ArchivedSlot, Gap
from rewind.recording.services.recording import record_slots
from rewind.sealed.models import SealedBlock, SealedDamage
from rewind.sealed.services import damage_gaps
from rewind.sealed.services.scrubbing import scrub_segment
from rewind.sealed.store import sealing
from tests.operations.reading import changed, well
from tests.rewind.conftest import NOW, committed, no_node
from tests.rewind.damaging import SEALED, flip
from tests.rewind.samples import block, signature, write
from tests.rewind.sealed_forms import seal
from tests.second_database import second_database

__all__ = ["committed", "no_node"]
pytestmark = pytest.mark.usefixtures("empty_ledger", "empty_redis")


@pytest.fixture
def damaged(committed: None) -> SealedBlock:
    """A sealed block with flipped bits, known to the archive."""
    for slot in range(5, 25):
        writes = [write(account, signature(slot, 1), lamports=slot) for account in range(1, 9)]
        record_slots([block(slot, slot - 1, writes)], source="stream", now=NOW)
    record_slots([block(40_000, 24)], source="stream", now=NOW)
    seal(half=True)
    found = SealedBlock.objects.order_by("pubkey").first()
    assert found is not None
    with_bits(found)
    return found


def with_bits(found: SealedBlock) -> None:
    flip(found, bits=9)
    scrub_segment(found.segment_id, now=NOW)


def run(*args: str) -> str:
    out = StringIO()
    call_command("archive_repair", *args, stdout=out)
    return out.getvalue()


def test_it_lists_repairs_and_names_what_is_left(damaged: SealedBlock) -> None:
    with pytest.raises(CommandError, match="1 damaged: not repaired"):
        run()
    with pytest.raises(CommandError, match="there is no such damage"):
        run("--only", "archive:123456789")
    with pytest.raises(CommandError, match="the other database cannot be read"):
        run("--from-database", "postgresql://nobody@127.0.0.1:1/none")
    SealedBlock.objects.filter(pk=damaged.pk).update(block=damaged.block)
    with second_database(*SEALED) as url:
        with_bits(damaged)
        number = SealedDamage.objects.get().pk
        told = run("--from-database", url, "--only", f"archive:{number}")
    assert told.startswith(f"archive:{number}  block {damaged.pk} of segment {damaged.segment_id}")
    assert "repaired from database copy_" in told
    assert run() == "no sealed data is known to be damaged\n"


def test_it_opens_gaps(damaged: SealedBlock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage_gaps, "_PAUSE_SECONDS", 0.0)
    slots = ArchivedSlot.objects.count()
    told = run("--as-gap")
    gaps = Gap.objects.filter(closed_at=None, cause="damaged")
    lost = sum(each.to_slot - each.from_slot + 1 for each in gaps)
    assert lost and ArchivedSlot.objects.count() == slots - lost
    assert told == f"segment {sealing.active()[0].id}: 1 blocks left, {lost} slots are gaps now\n"
    assert run() == "no sealed data is known to be damaged\n"


def test_alarm_metric_and_pages_name_it(
    damaged: SealedBlock, admin_client: Client, empty_redis: None
) -> None:
    ledger = LedgerDamage.objects.create(
        kind="texts", number=7, first_slot=10, last_slot=20, reason="its checksum differs",
        found_by="scrub", found_at=NOW,
    )  # fmt: skip
    now = timezone.now()
    reading = read(now)
    assert [(each.store, each.count) for each in reading.chain.damage] == [
        ("archive", 1),
        ("ledger", 1),
    ]
    readings = changed(well(now), chain=changed(well(now).chain, damage=reading.chain.damage))
    alarms.evaluate(readings, now=now)
    opened = {alarm.subject: alarm for alarm in alarms.open_alarms()}
    assert opened["archive"].name == "archive_damaged"
    assert f"block {damaged.pk} of segment" in opened["archive"].text
    assert "frame of texts 7, slots 10 to 20" in opened["ledger"].text
    metrics = exposed(reading, [], version="1").decode()
    assert 'tidemark_sealed_damage{store="archive"} 1' in metrics

    found = SealedDamage.objects.get()
    for path, number, name in (
        ("rewind/sealeddamage", found.pk, f"archive:{found.pk}"),
        ("historical/ledgerdamage", ledger.pk, f"ledger:{ledger.pk}"),
    ):
        for query in ({}, {"q": "12"}, {"state": "damaged"}):
            page = admin_client.get(f"/admin/{path}/", query)
            assert page.status_code == 200
            assert "checksum differs" in page.content.decode()
            assert 'class="tm-word tm-bad"' in page.content.decode()
        page = admin_client.get(f"/admin/{path}/{number}/change/")
        assert f"archive_repair --only {name}" in page.content.decode()
        assert admin_client.get(f"/admin/{path}/add/").status_code == 403
