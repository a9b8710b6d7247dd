"""Baselines: what accounts were at one slot, beside what was written there."""

import pytest
from django.db import connection

from chain.addresses import VOTE
from chain.units import U64_MAX
from rewind.baselines.models import Baseline
from rewind.baselines.services.baseline import record_baseline, record_snapshot
from rewind.baselines.store import snapshots
from rewind.errors import BadBaseline
from rewind.models import AccountChange, ArchivedSlot
from rewind.positions import END_OF_SLOT
from rewind.recording.services import filters
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, rows, signature, write

BASE = AccountChange.Kind.BASE


def baseline(*accounts, slot=100):
    return record_baseline(accounts, slot, source="snapshot", now=NOW)


def test_an_account_stands_at_the_end_of_the_snapshots_slot(db):
    told = baseline(write(1, lamports=5, data=b"x" * 500, rent_epoch=U64_MAX), write(2))
    assert (told.accounts, told.present, told.gone) == (2, 0, 0)
    row = AccountChange.objects.get(pubkey=key(1))
    assert (row.slot, row.position, row.kind, row.lamports) == (100, END_OF_SLOT, BASE, 5)
    assert (row.data, row.rent_epoch, bytes(row.owner.pubkey)) == (
        b"x" * 500,
        U64_MAX,
        write(1).owner,
    )


def test_doing_it_again_changes_nothing(db):
    baseline(write(1), write(2))
    expected = rows()
    told = baseline(write(1), write(2), write(3))
    assert (told.accounts, told.present) == (1, 2)
    assert [row for row in rows() if row[0] != key(3)] == expected
    assert Baseline.objects.count() == 1


def test_the_highest_slot_counts_and_of_one_slot_the_last(db):
    stored = [
        (9, write(1, lamports=90)),
        (7, write(1, lamports=70)),
        (5, write(2, lamports=50)),
        (5, write(2, lamports=51)),
        (8, write(3, lamports=0)),
        (4, write(3, lamports=40)),
    ]
    told = record_snapshot(stored, slot=lambda: 10, whole=lambda: False, source="snapshot", now=NOW)
    assert (told.accounts, told.gone) == (2, 1)
    assert sorted((row[0], row[3]) for row in rows()) == sorted([(key(1), 90), (key(2), 51)])


def test_of_chosen_owners_only_the_accounts_they_still_own(db):
    mine, other = bytes([1]) * 32, bytes([2]) * 32
    stored = [
        (5, write(1, owner=mine)),
        (5, write(2, owner=mine)),
        (6, write(2, owner=other)),
        (6, write(3, owner=other)),
    ]
    told = record_snapshot(
        stored,
        slot=lambda: 10,
        whole=lambda: True,
        source="snapshot",
        now=NOW,
        chosen_owners=[mine],
    )
    assert told.accounts == 1
    assert [row[0] for row in rows()] == [key(1)]


def test_filtered_accounts_keep_their_baseline(record):
    vote = bytes(VOTE)
    filters.filter_owner(VOTE, filtered=True)
    baseline(write(1, owner=vote))
    record(block(101, writes=[write(1, owner=vote, lamports=7)]))
    assert [(row[1], row[3]) for row in rows()] == [(100, 1_000)]


def test_a_write_takes_the_place_of_a_base_and_is_counted(record):
    baseline(write(1, lamports=5))
    signed = write(2, signature(100, 0), version=1)
    last = write(1, version=9, lamports=6)
    told = record(block(100, writes=[signed, last]))
    assert told.changes == 2
    row = AccountChange.objects.get(pubkey=key(1))
    assert (row.kind, row.lamports, row.position) == (0, 6, END_OF_SLOT)
    assert ArchivedSlot.objects.get().changes == 2
    baseline(write(1, lamports=5))
    assert AccountChange.objects.get(pubkey=key(1)).kind == 0


@pytest.mark.parametrize(
    ("account", "reason"),
    [(write(b"short"), "32 bytes"), (write(1, lamports=2**64), "no u64")],
)
def test_an_account_that_makes_no_sense_is_refused_with_its_company(db, account, reason):
    with pytest.raises(BadBaseline, match=reason):
        baseline(write(1), account)
    assert rows() == []
    with pytest.raises(BadBaseline, match="out of range"):
        baseline(write(1), slot=2**63)


def test_what_a_killed_import_left_goes_with_the_next_and_a_running_one_s_stays(transactional_db):
    running = snapshots.Staging()
    with running, connection.cursor() as cursor:
        running.fill([snapshots.Staged(100, True, write(1))])
        cursor.execute("CREATE TABLE rewind_snapshot_17 (n int)")
        baseline(write(2))
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ '^rewind_snapshot_[0-9]+$'")
        (left,) = cursor.fetchall()
        assert left != ("rewind_snapshot_17",)
        assert running.counts() == (1, 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname ~ '^rewind_snapshot_'")
        assert cursor.fetchone() == (0,)
