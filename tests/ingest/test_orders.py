"""Orders over ranges of slots: what a verification finds, and how orders are worked off."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from solders.pubkey import Pubkey

from chain.slot_ranges import SlotRange
from gaps.slot_gap import GapStatus
from historical.models import Gap as LedgerGap
from historical.models import Transaction
from historical.recording.services.removal import remove_blocks
from ingest.errors import ActionRefused
from ingest.findings import FINDINGS
from ingest.models import Finding, RangeOrder
from ingest.services import orders
from ingest.services.slots import store_records
from rewind.models import Gap as ArchiveGap
from rewind.recording.services import filters
from staff.models import AuditEntry
from tests.localnet_process import free_ports
from tests.rewind.little_chain import SOL, LittleChain

State = RangeOrder.State
ALICE = Pubkey(bytes([7]) * 32)

pytestmark = pytest.mark.usefixtures("empty_ledger")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """Slots 0, 2, 4, … 12, each but the first with two payments to Alice."""
    chain = LittleChain(Path(tmp_path_factory.mktemp("chain")))
    for number in range(6):
        chain.block(
            *(chain.payment(ALICE, SOL + 2 * number + each, payer=each) for each in range(2)),
            skip=1,
        )
    yield chain.records
    chain.close()


@pytest.fixture
def stored(records: list[Any], db: None, settings: Any) -> list[Any]:
    settings.FILL_RPC_URLS = [f"http://127.0.0.1:{free_ports(1)[0]}"]
    store_records(records, source="stream", now=timezone.now())
    return records


def ask(first: int = 0, last: int = 20, kind: str = "verify", **told: Any) -> RangeOrder:
    told = {"archive": True, "ledger": True, "source": "", **told}
    now = timezone.now()
    return orders.ask(kind, SlotRange(first, last), asked_by="ada", now=now, **told)


def work_off() -> RangeOrder:
    while orders.work_off(now=timezone.now, seconds=10.0):
        pass
    return RangeOrder.objects.latest("pk")


def found() -> list[tuple[str, int, str]]:
    return list(Finding.objects.order_by("slot").values_list("area", "slot", "what"))


def sql(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def test_what_is_as_it_should_be_is_said_to_be(stored: list[Any]) -> None:
    ask()
    order = work_off()
    assert found() == []
    assert (order.state, order.sound, order.next_slot) == (State.DONE, 7, 21)
    assert order.started_at is not None and order.finished_at is not None


def _change_write(slot: int, change: str) -> Callable[[], None]:
    return lambda: sql(
        f"UPDATE rewind_accountchange SET {change} WHERE slot = {slot} AND position = 1"
        " AND pubkey = %s",
        bytes(ALICE),
    )


def _take_signature(slot: int, other: int) -> None:
    """The first transaction of a slot has the signature of that of another slot."""
    columns = "slot, position, start, length, frame, err, memo, signature"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM historical_transaction WHERE slot = ANY(%s) AND position = 0"
            " ORDER BY slot = %s",
            [[slot, other], other],
        )
        mine, theirs = cursor.fetchall()
        cursor.execute(
            "DELETE FROM historical_transaction WHERE slot = %s AND position = 0", [slot]
        )
        cursor.execute(
            f"INSERT INTO historical_transaction ({columns})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [*mine[:-1], theirs[-1]],
        )


DAMAGES: list[tuple[str, Callable[[], Any], tuple[str, int, str]]] = [
    ("a block that is gone", lambda: remove_blocks(4, 4), ("ledger", 4, "parent_missing")),
    (
        "another blockhash",
        lambda: sql(
            "UPDATE historical_block SET previous_blockhash = %s WHERE slot = 6", bytes(32)
        ),
        ("ledger", 6, "wrong_link"),
    ),
    (
        "a block beside the chain",
        lambda: sql("UPDATE historical_block SET parent_slot = 2 WHERE slot = 6"),
        ("ledger", 4, "between_links"),
    ),
    (
        "an index row that is gone",
        lambda: sql("DELETE FROM historical_transaction WHERE slot = 8 AND position = 1"),
        ("ledger", 8, "index_count"),
    ),
    (
        "a body that is cut",
        lambda: sql("UPDATE historical_block SET body = substr(body, 1, 90) WHERE slot = 8"),
        ("ledger", 8, "unreadable"),
    ),
    (
        "index rows that are swapped",
        lambda: _take_signature(8, 10),
        ("ledger", 8, "wrong_index"),
    ),
    (
        "address entries that are gone",
        lambda: sql("TRUNCATE historical_addressentries"),
        ("ledger", 2, "address_index"),
    ),
    (
        "a count of blocks",
        lambda: sql("UPDATE historical_blocktally SET blocks = 6"),
        ("ledger", 0, "ledger_tally"),
    ),
    (
        "another block in the archive",
        lambda: sql("UPDATE rewind_archivedslot SET blockhash = %s WHERE slot = 4", bytes(32)),
        ("archive", 4, "other_block"),
    ),
    (
        "an archived slot that is gone",
        lambda: sql("DELETE FROM rewind_archivedslot WHERE slot = 4"),
        ("archive", 4, "not_archived"),
    ),
    (
        "a write that is gone",
        lambda: sql(
            "DELETE FROM rewind_accountchange WHERE slot = 4 AND position = 1 AND pubkey = %s",
            bytes(ALICE),
        ),
        ("archive", 4, "write_missing"),
    ),
    ("a balance", _change_write(4, "lamports = 5"), ("archive", 4, "wrong_balance")),
    (
        "a count of writes",
        lambda: sql("UPDATE rewind_archivedslot SET changes = changes + 1 WHERE slot = 12"),
        ("archive", 12, "write_count"),
    ),
    (
        "a count of archived slots",
        lambda: sql("UPDATE rewind_slottally SET slots = 99"),
        ("archive", 0, "archive_tally"),
    ),
]


@pytest.mark.parametrize(
    ("damage", "finding"), [each[1:] for each in DAMAGES], ids=[each[0] for each in DAMAGES]
)
def test_what_is_damaged_is_found(
    stored: list[Any], damage: Callable[[], Any], finding: tuple[str, int, str]
) -> None:
    damage()
    ask()
    order = work_off()
    assert finding in found()
    assert order.state == State.DONE and order.findings == len(found())
    assert order.sound < 8


def test_what_a_filter_dropped_is_not_missed(records: list[Any], db: None) -> None:
    filters.filter_account(ALICE, filtered=True)
    store_records(records, source="stream", now=timezone.now())
    filters.filter_account(ALICE, filtered=False)
    ask()
    work_off()
    assert found() == []


def test_a_slot_in_an_open_gap_is_not_found_again_and_what_is_lacking_becomes_one(
    stored: list[Any],
) -> None:
    remove_blocks(4, 4)
    ask()
    order = work_off()
    assert ("archive", 4, "not_stored") in found() and ("ledger", 4, "parent_missing") in found()
    assert orders.open_gaps_of(order, now=timezone.now()) == 1
    gap = LedgerGap.objects.get()
    assert (gap.from_slot, gap.to_slot, gap.cause) == (4, 4, "verification")
    assert not ArchiveGap.objects.filter(closed_at__isnull=True).exists()
    Finding.objects.all().delete()
    ask()
    work_off()
    assert found() == []


def test_a_node_that_is_away_is_asked_again_some_times_and_then_no_more(stored: list[Any]) -> None:
    order = ask(source=orders.source_names()[0])
    for tries in range(1, 6):
        now = timezone.now() + timedelta(minutes=tries)
        assert orders.work_off(now=lambda now=now: now, seconds=10.0)
        assert not orders.work_off(now=lambda now=now: now, seconds=10.0)
        order.refresh_from_db()
        assert (order.tries, order.state) == (tries, State.FAILED if tries == 5 else State.QUEUED)
    assert orders.source_names()[0] in order.failure
    assert order.next_slot == 0


def test_an_order_goes_on_where_its_worker_was_lost(stored: list[Any]) -> None:
    ask(last=450)
    orders.work_off(now=timezone.now, seconds=0.0)
    order = RangeOrder.objects.get()
    assert (order.state, order.next_slot) == (State.RUNNING, 100)
    # One that is at it, and dies: nobody takes it up before its claim is over.
    order.due_at = timezone.now() + timedelta(seconds=60)
    order.save()
    assert not orders.work_off(now=timezone.now, seconds=10.0)
    later = timezone.now() + timedelta(seconds=61)
    assert orders.work_off(now=lambda: later, seconds=10.0)
    order.refresh_from_db()
    assert (order.state, order.sound) == (State.DONE, 7)


def test_a_cancelled_order_stays_cancelled(stored: list[Any]) -> None:
    order = ask(last=450)
    orders.work_off(now=timezone.now, seconds=0.0)
    assert orders.cancel([order.pk], now=timezone.now()) == 1
    assert not orders.work_off(now=timezone.now, seconds=10.0)
    assert orders.cancel([order.pk], now=timezone.now()) == 0
    order.refresh_from_db()
    assert (order.state, order.next_slot) == (State.CANCELLED, 100)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"first": 9, "last": 8}, "must not lie above"),
        ({"archive": False, "ledger": False}, "Choose the archive, the ledger, or both"),
        ({"source": "elsewhere"}, "not one of the nodes"),
        ({"kind": "reingest"}, "Choose the source to fetch the slots from"),
        ({"kind": "verify", "source": "stream"}, "not with a stream"),
        ({"last": 432_000}, "432,001 slots are too many at once: at most 432,000"),
        ({"kind": "reingest", "source": "stream", "last": 10_000}, "at most 10,000"),
    ],
)
def test_what_cannot_be_ordered_is_refused_in_words(
    stored: list[Any], told: dict[str, Any], text: str
) -> None:
    with pytest.raises(ActionRefused, match=text):
        ask(**told)


def test_a_node_is_not_asked_for_account_writes(stored: list[Any]) -> None:
    with pytest.raises(ActionRefused, match="A node has no account writes"):
        ask(kind="reingest", source=orders.source_names()[0])


def test_one_order_at_a_time_for_a_slot(stored: list[Any]) -> None:
    ask(10, 20)
    for first, last in ((20, 30), (0, 10), (12, 13)):
        with pytest.raises(ActionRefused, match="Another order over some of these slots"):
            ask(first, last)
    ask(21, 30)
    work_off()
    ask(12, 13)


def test_every_finding_says_what_helps() -> None:
    for what, told in FINDINGS.items():
        assert told.text and told.advice, what


def test_the_command_verifies_tells_and_is_written_down(
    stored: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("verify_range", "0", "12")
    told = capsys.readouterr().out
    assert "7 slots are correct, 0 were stored, 0 were replaced, 0 findings" in told
    held = Transaction.objects.filter(slot__range=(0, 12)).count()
    assert held and f"the signatures of {held} transactions were verified" in told
    assert AuditEntry.objects.get().who == "command line"
    _change_write(4, "lamports = 5")()
    with pytest.raises(CommandError, match="1 finding is unresolved") as failed:
        call_command("verify_range", "0", "12", "--archive-only")
    assert failed.value.returncode == 1
    told = capsys.readouterr().out
    assert "archive slot 4: a write has another balance than the block" in told
    with pytest.raises(CommandError, match="stopped before slot 0"):
        call_command("verify_range", "0", "12", "--node", orders.source_names()[0])
    assert RangeOrder.objects.latest("pk").state == State.FAILED
    with pytest.raises(CommandError, match="must not lie above"):
        call_command("verify_range", "12", "0")


def test_without_a_stream_a_reingest_says_what_cannot_be_had(
    stored: list[Any], settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.UPSTREAM_GEYSER_URL = ""
    with pytest.raises(CommandError, match="1 finding is unresolved"):
        call_command("reingest", "0", "12", "--archive-only")
    assert "only a stream has account writes" in capsys.readouterr().out
    assert found() == [("archive", 0, "source_lacks")]


def test_an_open_gap_is_no_finding(stored: list[Any]) -> None:
    from ingest.services.slots import open_gaps

    remove_blocks(4, 4)
    open_gaps(4, 4, status=GapStatus.MISSING, cause="stream_lost", now=timezone.now())
    ask()
    work_off()
    assert found() == []
