"""manage.py plan and the page Sizing: the arithmetic, what is measured, and what is refused."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from columns import clusters
from columns.loop_queries import CONNECTIONS
from gateway import edge
from operations.readings import ratios
from operations.readings.ratios import DOCUMENTED, Source
from operations.sizing import Load, Plan, Policy, SizingRefused, drivers, plan
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import SealedSegment
from shared_state import counters, heartbeats
from tests.rewind.samples import block, write
from tests.rewind.sealed_forms import seal

PAGE = "/admin/operations/alarm/sizing/"
POLICY = Policy(9_000, 50, 432_000, 50, 100 * 2**20)
YEAR = Load(5_500, 4_000, 365)


def amounts(parts: list[Any]) -> dict[str, float]:
    return {part.title: part.amount for part in parts}


def made(load: Load, policy: Policy = POLICY) -> Plan:
    return plan(load, DOCUMENTED, policy)


# --- the arithmetic ---


def test_a_year_of_mainnet_by_hand() -> None:
    found = made(YEAR)
    slots = 365 * 86_400 / 0.4
    assert found.changes == pytest.approx(5_500 * 365 * 86_400)
    disk = amounts(found.database)
    hot = 9_000 + 72_000
    assert disk["Archive: hot rows"] == pytest.approx(hot * 2_200 * 607)
    assert disk["Archive: sealed segments"] == pytest.approx((slots - hot) * 2_200 * 34.2)
    assert disk["Archive: room to seal and merge"] == pytest.approx(432_000 * 2_200 * 34.2 * 2)
    assert disk["Ledger: hot blocks"] == pytest.approx(864_000 * 1_600 * 992)
    assert disk["Slots and block headers"] == pytest.approx(slots * 490)
    assert found.store == [] and found.as_rows == pytest.approx(
        slots * (2_200 * 607 + 1_600 * 992 + 490)
    )
    total = sum(disk.values())
    free = disk["Free space and write-ahead log"]
    assert free == pytest.approx(0.25 * (total - free) + 8e9)
    disk_need, memory, processors = found.needs
    assert disk_need.machines == -(-total // 8e12) == found.machines
    assert memory.machines >= 1 and processors.machines == 1
    assert any("LEDGER_SEAL_PERCENT=50 it falls behind" in each for each in found.warnings) is (
        0.5 < 4_000 / 2_670 <= 1
    )
    assert any("one worker seals at a time" in each for each in found.warnings)


def test_an_object_store_takes_what_is_older_and_merged() -> None:
    here, away = made(YEAR), made(replace(YEAR, cold_after_days=30))
    moved = 365 * 86_400 / 0.4 - 30 * 86_400 / 0.4
    assert amounts(away.store)["Archive: cold segments"] == pytest.approx(moved * 2_200 * 27.6)
    assert away.database_bytes < here.database_bytes
    at_once = made(replace(YEAR, cold_after_days=0))
    moved = 365 * 86_400 / 0.4 - (81_000 + 432_000)
    segments = -(-moved // 432_000)
    assert at_once.store_bytes == pytest.approx(moved * 2_200 * 27.6 + segments * 28_800_000)


def test_what_is_off_stays_rows_and_says_so() -> None:
    found = made(YEAR, replace(POLICY, archive_percent=0, ledger_range_slots=0))
    assert (
        not {"Archive: sealed segments", "Ledger: sealed ranges"} & amounts(found.database).keys()
    )
    assert sum("stays rows" in each for each in found.warnings) == 2


per_second = st.floats(0.001, 50_000)
loads = st.builds(
    Load,
    writes_per_second=per_second,
    transactions_per_second=per_second,
    days=st.floats(0.02, 3_000),
    cold_after_days=st.none() | st.floats(0, 400),
)


@given(loads, st.floats(1, 3))
def test_more_is_never_less(load: Load, factor: float) -> None:
    base = made(load)
    assert all(part.amount > 0 for part in (*base.database, *base.store, *base.memory))
    for other in (
        replace(load, days=load.days * factor),
        replace(load, writes_per_second=load.writes_per_second * factor),
        replace(load, transactions_per_second=load.transactions_per_second * factor),
    ):
        more = made(other)
        assert more.database_bytes >= base.database_bytes * (1 - 1e-9)
        assert more.store_bytes >= base.store_bytes * (1 - 1e-9)
        assert more.machines >= base.machines
    # What is stored is stored once.
    parts = amounts(base.database) | amounts(base.store)
    changes = (
        parts.get("Archive: hot rows", 0) / DOCUMENTED.hot_change.value
        + parts.get("Archive: sealed segments", 0) / DOCUMENTED.sealed_change.value
        + parts.get("Archive: cold segments", 0) / DOCUMENTED.cold_change.value
    )
    assert changes == pytest.approx(base.changes)


@given(loads)
def test_a_driver_is_the_difference_of_two_plans(load: Load) -> None:
    found = {each.title: each for each in drivers(load, DOCUMENTED, POLICY)}
    then = made(replace(load, days=load.days + 30))
    assert found["30 more days"].database == pytest.approx(
        then.database_bytes - made(load).database_bytes
    )
    longest = drivers(replace(load, days=36_500), DOCUMENTED, POLICY)
    assert "30 more days" not in {each.title for each in longest}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("writes_per_second", -1),
        ("writes_per_second", float("nan")),
        ("writes_per_second", 1e12),
        ("transactions_per_second", float("inf")),
        ("days", 0),
        ("cold_after_days", -3),
        ("standbys", 11),
        ("machine_disk_tb", 0),
        ("machine_memory_gb", 0.5),
        ("machine_cores", float("nan")),
    ],
)
def test_what_cannot_be_planned_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(SizingRefused) as refused:
        replace(YEAR, **{field: value})
    assert refused.value.field == field
    with pytest.raises(SizingRefused):
        Load(0, 0, 1)


# --- what is measured ---


@pytest.fixture
def sealed(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merged segment, a sealed partition and a hot one, which are enough to be measured."""
    from rewind.recording.services.recording import record_slots
    from tests.rewind.conftest import NOW as then
    from tests.rewind.conftest import empty_archive

    empty_archive()
    for name in ("LEAST_CHANGES", "LEAST_TRANSACTIONS", "LEAST_SLOTS"):
        monkeypatch.setattr(ratios, name, 1)
    parent = 0
    slots = [5, PARTITION_SLOTS + 5, SEGMENT_SLOTS + 5, SEGMENT_SLOTS + PARTITION_SLOTS + 7]
    for slot in slots:
        writes = [write(number, lamports=slot + number) for number in range(1, 61)]
        record_slots([block(slot, parent, writes=writes)], source="stream", now=then)
        parent = slot
    seal(half=True)


def test_ratios_are_those_of_the_tables(sealed: None, empty_redis: None) -> None:
    counters.add(
        {
            (counters.SEALED, "archive"): 1_200_000,
            (counters.SEALING_MICROSECONDS, "archive"): 20_000_000,
        }
    )
    found = ratios.measured_ratios()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_total_relation_size(inhrelid), pg_indexes_size(inhrelid) FROM pg_inherits"
            " WHERE inhparent = 'rewind_accountchange'::regclass"
        )
        ((size, index),) = cursor.fetchall()
    assert (found.hot_change.value, found.hot_change_index.value) == (size / 60, index / 60)
    merged = SealedSegment.objects.get(state=1, first_slot=0)
    packed = merged.stored_bytes + len(bytes(merged.dictionary or b""))
    assert found.cold_change.value == merged.stored_bytes / 120
    assert found.sealed_change.value == (packed + 870 * merged.blocks) / 120
    assert found.sealed_change.basis == "1 merged segment with 120 changes"
    assert found.sealed.value == 30_000, "each change is sealed and then merged"
    for name in ("hot_change", "sealed_change", "cold_change", "cold_change_row", "sealed"):
        assert getattr(found, name).source is Source.MEASURED
    for name in ("hot_transaction", "sealed_transaction", "ingested", "slot_seconds"):
        assert getattr(found, name) == getattr(DOCUMENTED, name)


def test_a_cluster_measures_what_segments_say(
    sealed: None, empty_redis: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "is_always_apart", True)
    found = ratios.measured_ratios()
    assert found.sealed_change.source is Source.MEASURED
    assert found.hot_change == DOCUMENTED.hot_change


def test_the_ledgers_ratios_are_those_of_its_tables(
    empty_ledger: None, empty_redis: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from historical.models import SealedRange
    from historical.recording.services.recording import record_blocks
    from tests.historical.sealed_reads import NOW as then
    from tests.historical.sealed_reads import seal as seal_ledger

    monkeypatch.setattr(ratios, "LEAST_TRANSACTIONS", 1)
    parent = 99
    for slot in (100, 6_450, 12_900):
        record_blocks([block(slot, parent, transactions=3)], now=then)
        parent = slot
    seal_ledger(6_400)
    assert sum(SealedRange.objects.values_list("transactions", flat=True)) == 6
    found = ratios.measured_ratios()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(ARRAY["
            "'historical_sealedblock', 'historical_packedtexts', 'historical_packedindex',"
            " 'historical_sealedrange']) AS name"
        )
        ((size,),) = cursor.fetchall()
    assert found.sealed_transaction.value == pytest.approx(float(size) / 6)
    assert found.sealed_transaction.basis == "6 sealed transactions"
    assert found.hot_transaction.source is Source.MEASURED


def test_too_little_is_not_measured(db: None, empty_redis: None) -> None:
    assert list(ratios.measured_ratios()) == list(DOCUMENTED)
    assert ratios.measured_writes(0.4) is None


# --- the command ---


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("plan", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_plan(db: None, empty_redis: None) -> None:
    text = run("--writes-per-second", "5500", "--transactions-per-second", "4000", "--days", "365")
    lines = text.splitlines()
    assert lines[0].startswith("13 machines: ") or " machines: " in lines[0]
    assert "Warning: Sealing takes" in text
    for title in ("Disk of the database", "Memory", "Machines", "Computed from"):
        assert title in lines
    assert "  Archive: sealed segments" in text and "documented: " in text
    assert "Object store" not in lines
    assert "17,191 writes" in text and "e+0" not in text


def test_sessions_are_those_of_the_running_processes(
    db: None, empty_redis: None, settings: Any
) -> None:
    settings.WEB_THREADS, settings.DEAR_CALLS = 30, 10
    lanes = edge.Lanes()
    requests = sum(lane.threads.most for lane in lanes.all) + CONNECTIONS
    assert requests == edge.database_sessions() == 56
    asked = ("--writes-per-second=100", "--days=10")
    assert "at most 60, and their sorting" in run(*asked)
    for pid in (1, 2, 3):
        heartbeats.beat("web", pid=pid)
    heartbeats.beat("ingest", pid=4)
    assert "at most 182, and their sorting" in run(*asked)
    settings.OLD_FAITHFUL_URL = "https://old.faithful.example"
    assert "at most 206, and their sorting" in run(*asked)


def test_the_command_prints_json(db: None, empty_redis: None) -> None:
    found = json.loads(
        run("--writes-per-second=100", "--days=10", "--cold-after-days=1", "--standbys=1", "--json")
    )
    assert found["machinesWithStandbys"] == 2 * found["machines"] == 2
    assert found["databaseBytes"] == pytest.approx(
        sum(part["bytes"] for part in found["database"]), abs=20
    )
    assert found["objectStoreBytes"] > 0
    sources = {figure["title"]: figure["source"] for figure in found["figures"]}
    assert sources["Account writes a second"] == "given"
    assert sources["Transactions a second"] == "documented"
    assert sources["A change, hot"] == "documented"


def test_measured_rates_are_the_default(sealed: None, empty_redis: None) -> None:
    found = json.loads(run("--json"))
    figure = next(each for each in found["figures"] if each["title"] == "Account writes a second")
    assert figure["source"] == "measured"
    # Three runs of 1,000 slots but the newest, with 60 changes each.
    assert figure["value"] == pytest.approx(60 / 1_000 / 0.4)


def test_the_setting_of_the_object_store_is_the_default(
    db: None, empty_redis: None, settings: Any
) -> None:
    settings.ARCHIVE_STORE, settings.ARCHIVE_STORE_AFTER_SLOTS = "file:///cold", 216_000
    found = json.loads(run("--writes-per-second=100", "--days=90", "--json"))
    figure = next(each for each in found["figures"] if each["title"].startswith("In the object"))
    assert (figure["source"], figure["value"]) == ("setting", pytest.approx(1))
    assert found["objectStoreBytes"] > 0
    assert not json.loads(run("--writes-per-second=100", "--no-store", "--json"))["objectStore"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "--writes-per-second: give the account writes"),
        (["--writes-per-second=-1"], "--writes-per-second: writes per second must be from 0"),
        (["--writes-per-second=1", "--days=0"], "--days: days must be from 0.01 to 36,500"),
        (["--writes-per-second=nan"], "--writes-per-second: "),
        (["--writes-per-second=x"], "invalid float value"),
        (["--writes-per-second=1", "--store-price=nan"], "--store-price: store price must be"),
    ],
)
def test_the_command_refuses_what_it_cannot_plan(
    db: None, empty_redis: None, arguments: list[str], named: str
) -> None:
    with pytest.raises(CommandError, match=named):
        run(*arguments)


def test_prices_make_costs(db: None, empty_redis: None) -> None:
    asked = ("--writes-per-second=5500", "--days=365", "--cold-after-days=30", "--standbys=1")
    priced = ("--machine-price=200", "--store-price=20.5")
    without, found = json.loads(run(*asked, "--json")), json.loads(run(*asked, *priced, "--json"))
    assert without["costAMonth"] is None and without["drivers"][0]["costAMonth"] is None
    month = found["machinesWithStandbys"] * 200 + found["objectStoreBytes"] / 1e12 * 20.5
    assert found["costAMonth"] == pytest.approx(month, abs=0.02)
    longer = json.loads(run(*asked, *priced, "--days=395", "--json"))
    (driver,) = (each for each in found["drivers"] if each["title"] == "30 more days")
    assert driver["costAMonth"] == pytest.approx(longer["costAMonth"] - month, abs=0.02)
    text = run(*asked, *priced)
    assert " a month: machines " in text and ", object store " in text and ", a month +" in text
    only = run(*asked, "--machine-price=200")
    assert ", object store without a price." in only
    assert "a month" not in run(*asked)


# --- the page ---


def test_the_page_asks_for_a_load_while_nothing_is_measured(
    admin_client: Any, empty_redis: None
) -> None:
    page = admin_client.get(PAGE)
    assert page.context["found"] is None
    assert "Give the account writes a second: too few slots" in page.content.decode()


def test_the_page_shows_what_the_command_prints(
    admin_client: Any, empty_redis: None, django_assert_max_num_queries: Any
) -> None:
    asked = {"writes_per_second": "5500", "transactions_per_second": "", "days": "365"}
    with django_assert_max_num_queries(30):
        page = admin_client.get(PAGE, asked | {"cold_after_days": "30", "standbys": "1"})
    text = " ".join(page.content.decode().split())
    printed = run("--writes-per-second=5500", "--cold-after-days=30", "--standbys=1")
    machines = printed.split(" ", 1)[0]
    assert f'<p class="tm-figure">{machines} machines</p>' in text
    for part in page.context["found"]["plan"].database:
        assert part.title in text and part.title in printed
    assert "Of the database, and" in text and "no object store" in text


def test_the_page_shows_costs_where_prices_are_given(admin_client: Any, empty_redis: None) -> None:
    asked = {"writes_per_second": "5500", "days": "365"}
    assert "Costs a month" not in admin_client.get(PAGE, asked).content.decode()
    page = admin_client.get(PAGE, asked | {"machine_price": "0.5", "store_price": ""})
    text = " ".join(page.content.decode().split())
    machines = page.context["found"]["plan"].machines
    assert f"<dd>{machines / 2:,.2f}</dd>" in text and "Costs a month" in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"writes_per_second": "1", "machine_price": "-1"}, "Machine price must be from 0 to"),
        ({"writes_per_second": "-5"}, "Writes per second must be from 0 to 10,000,000"),
        ({"writes_per_second": "many"}, "Enter a number."),
        ({"writes_per_second": "1", "days": "0"}, "Days must be from 0.01 to 36,500"),
        ({"writes_per_second": "1", "standbys": "1.5"}, "Enter a whole number."),
        ({"days": "3"}, "Give the account writes a second"),
    ],
)
def test_the_page_names_the_field_that_is_wrong(
    admin_client: Any, empty_redis: None, asked: dict[str, str], said: str
) -> None:
    page = admin_client.get(PAGE, asked)
    assert page.status_code == 200 and page.context["found"] is None
    assert said in page.content.decode()
