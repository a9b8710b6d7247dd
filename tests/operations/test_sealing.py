"""What operators are told of sealing: how much is sealed, what waits, and why it fails."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import InternalError, connection, transaction
from django.utils import timezone
from psycopg import DatabaseError

from historical import tasks as ledger_tasks
from historical.recording.services.recording import record_blocks
from operations.models import Alarm
from operations.readings.present import read
from operations.services import alarms
from rewind import tasks
from rewind.recording.services.recording import record_slots
from rewind.recording.store.partitions import PARTITION_SLOTS
from rewind.sealed.models import SealedSegment
from shared_state import task_faults
from tests.operations.reading import changed, well
from tests.operations.test_metrics import scrape
from tests.rewind.samples import block, write

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]


def archive(*slots: int, parent: int = 0) -> None:
    for slot in slots:
        record_slots([block(slot, parent, writes=[write(1, lamports=slot)])], source="a", now=NOON)
        parent = slot


def seal() -> None:
    """As the schedule does, until all is done."""
    for _ in range(20):
        with transaction.atomic():
            tasks.seal_archive()


@pytest.fixture
def three_partitions(settings: Any) -> None:
    settings.ARCHIVE_SEAL_AFTER_SLOTS = 0
    archive(5, PARTITION_SLOTS + 5, 3 * PARTITION_SLOTS + 9)


def test_sealing_that_keeps_up_is_counted(
    client: Any, three_partitions: None, django_capture_on_commit_callbacks: Any
) -> None:
    found = scrape(client)
    assert found["tidemark_sealing_waiting", "archive"] == 2
    assert found["tidemark_sealing_lag_slots", "archive"] == 2 * PARTITION_SLOTS + 10
    assert found["tidemark_sealed_slots", "archive", "database"] == 0
    before = found.get(("tidemark_sealed_total", "archive"), 0)
    with django_capture_on_commit_callbacks(execute=True):
        seal()
    found = scrape(client)
    assert found["tidemark_sealing_waiting", "archive"] == 0
    assert found["tidemark_sealing_lag_slots", "archive"] == 0
    assert found["tidemark_sealed_slots", "archive", "database"] == 2 * PARTITION_SLOTS - 5
    stored = sum(SealedSegment.objects.filter(state=1).values_list("stored_bytes", flat=True))
    assert found["tidemark_sealed_bytes", "archive", "database"] == stored > 0
    assert found["tidemark_sealed_total", "archive"] - before == 2
    assert found["tidemark_sealing_cpu_seconds_total", "archive"] > 0


def test_what_waits_for_a_partitions_length_is_an_alarm_after_an_hour(
    three_partitions: None, settings: Any
) -> None:
    for after in (0, 1_800, 3_601):
        now = NOON + timedelta(seconds=after)
        sealing = read(now).sealing
        alarms.evaluate(changed(well(now), sealing=sealing), now=now)
        assert len(alarms.open_alarms()) == (after > 3_600)
    (alarm,) = alarms.open_alarms()
    assert (alarm.name, alarm.subject) == ("sealing_behind", "archive")
    assert alarm.text == (
        "2 finished partitions of the archive are not sealed, the oldest has been finished for"
        " 72,010 slots."
    )
    settings.ARCHIVE_SEALING_PERCENT = 0
    off = read(NOON).sealing.stores[0]
    assert (off.waiting, off.lag) == (None, None)
    for after in (3_700, 3_800):
        now = NOON + timedelta(seconds=after)
        alarms.evaluate(changed(well(now), sealing=read(now).sealing), now=now)
    assert not alarms.open_alarms(), "who turned it off does not want to hear of it"


def test_a_task_that_fails_says_why_until_it_succeeds(client: Any, three_partitions: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse_blocks() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no block is taken'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse_blocks BEFORE INSERT ON rewind_sealedblock"
            " FOR EACH ROW EXECUTE FUNCTION refuse_blocks()"
        )
    for _ in range(2):
        with pytest.raises(DatabaseError), transaction.atomic():
            for _ in range(5):
                tasks.seal_archive()
    (fault,) = read(timezone.now()).sealing.faults
    assert (fault.store, fault.task) == ("archive", "seal_archive")
    assert fault.reason.endswith(": no block is taken")
    failures = scrape(client)["tidemark_task_failures_total", "seal_archive"]
    assert failures == 2
    now = timezone.now()
    for after in (0, 31):
        at = now + timedelta(seconds=after)
        alarms.evaluate(changed(well(at), sealing=read(at).sealing), now=at)
    alarm = Alarm.objects.get(name="sealing_failing")
    assert alarm.opened_at is not None and fault.reason in alarm.text
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER refuse_blocks ON rewind_sealedblock")
    seal()
    assert read(timezone.now()).sealing.faults == []
    assert SealedSegment.objects.filter(state=1).exists()


@pytest.mark.parametrize(
    ("store", "table", "scrub"),
    [
        ("ledger", "historical_ledgerscrub", ledger_tasks.scrub_ledger),
        ("archive", "rewind_sealedsegment", tasks.scrub_archive),
    ],
)
def test_a_page_that_postgresql_refuses_to_read_is_said(
    store: str, table: str, scrub: Any, settings: Any
) -> None:
    """Its checksum differs: no scrub gets past it."""
    settings.LEDGER_SCRUB_DAYS = settings.ARCHIVE_SCRUB_DAYS = 1
    with pytest.raises(InternalError), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE FUNCTION unread() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE 'invalid page in block 7' USING ERRCODE = 'XX001'; END $$"
            )
            cursor.execute(f"ALTER TABLE {table} RENAME TO whole")
            cursor.execute(f"CREATE VIEW {table} AS SELECT * FROM whole WHERE (SELECT unread())")
        scrub()
    (fault,) = read(timezone.now()).sealing.faults
    assert (fault.store, fault.task) == (store, scrub.__name__)
    assert fault.reason.endswith(": invalid page in block 7")
    scrub()
    assert read(timezone.now()).sealing.faults == []


def test_the_ledgers_ranges_wait_too(settings: Any) -> None:
    settings.LEDGER_SEAL_SLOTS = 6_400
    parent = 99
    for slot in (100, 6_450, 12_900):
        record_blocks([block(slot, parent, transactions=2)], now=NOON)
        parent = slot
    ledger = read(timezone.now()).sealing.stores[1]
    assert (ledger.store, ledger.waiting, ledger.lag) == ("ledger", 2, 6_400)
    assert ledger.lag > ledger.limit
    for _ in range(10):
        ledger_tasks.seal_ledger()
    ledger = read(timezone.now()).sealing.stores[1]
    assert (ledger.waiting, ledger.lag, ledger.sealed_slots) == (0, 0, 12_700)
    settings.LEDGER_SEAL_SLOTS = 0
    assert read(timezone.now()).sealing.stores[1].lag is None


def test_an_outage_is_no_failure_of_the_task() -> None:
    with pytest.raises(OSError), task_faults.noted("seal_archive"):
        raise OSError("away")
    assert task_faults.read() == {}
    for number in (1, 2):
        with pytest.raises(ValueError), task_faults.noted("seal_archive"):
            raise ValueError("the first line\nand another")
        fault = task_faults.read()["seal_archive"]
        assert (fault.reason, fault.runs) == ("ValueError: the first line", number)
    with task_faults.noted("seal_archive"):
        pass
    assert task_faults.read() == {}


@pytest.mark.django_db(transaction=True)
def test_an_object_store_that_cannot_be_used_is_said(settings: Any, tmp_path: Any) -> None:
    from rewind.sealed.store import cold_store

    (tmp_path / "file").write_bytes(b"no folder")
    settings.ARCHIVE_STORE = f"file://{tmp_path}/file/below"
    cold_store.configure(cold_store.Terms(settings.ARCHIVE_STORE))
    try:
        tasks.move_archive()
        (fault,) = read(timezone.now()).sealing.faults
        assert (fault.store, fault.task) == ("archive", "move_archive")
        assert fault.reason
        settings.ARCHIVE_STORE = f"file://{tmp_path}"
        cold_store.configure(cold_store.Terms(settings.ARCHIVE_STORE))
        tasks.move_archive()
        assert read(timezone.now()).sealing.faults == []
    finally:
        cold_store.configure(cold_store.Terms())
