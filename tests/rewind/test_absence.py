"""Why an account is not there: no reason is given that another history could disprove."""

from collections.abc import Iterable

import pytest
from solders.pubkey import Pubkey
from solders.sysvar import RENT

from gaps.slot_gap import GapStatus
from rewind.accounts.services.absence import Absence, absences, known_absent, stale_among
from rewind.accounts.services.position_lookup import resolve_position
from rewind.accounts.store.states import newest_states
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import AccountChange, FilteredPubkey
from rewind.positions import Asked
from rewind.recording.services import filters
from rewind.recording.services.retention import prune
from rewind.recording.store.partitions import PARTITION_SLOTS
from tests.rewind.conftest import NOW
from tests.rewind.samples import PROGRAM, block, key, signature, write

EDGE = PARTITION_SLOTS
CLOSED, NEVER_EXISTED = Absence.CLOSED, Absence.NEVER_EXISTED
BEFORE_FIRST_RECORD, FILTERED = Absence.BEFORE_FIRST_RECORD, Absence.FILTERED
OTHER = bytes([8]) * 32


def genesis(*accounts: int):
    return block(0, writes=[write(bytes(RENT)), *map(write, accounts)], transactions=0)


def told(accounts: Iterable[int], slot: int, index: int | None = None):
    """Of each account: the reason, whether it surely is not there, whether it may be old."""
    resolved = resolve_position(Asked(slot=slot, index=index), tolerate_gaps=True)
    pubkeys = [key(account) for account in accounts]
    states = newest_states(pubkeys, resolved.position, resolved.layout)
    reasons, unknown = absences(pubkeys, states, resolved)
    absent = known_absent(pubkeys, states, resolved)
    stale = stale_among(pubkeys, states, resolved)
    assert set(unknown) == reasons.keys() - absent - stale
    return [(reasons.get(each), each in absent, each in stale) for each in pubkeys]


LIVES = (None, False, False)
UNKNOWN = (BEFORE_FIRST_RECORD, False, False)
GONE = (BEFORE_FIRST_RECORD, True, False)
DROPPED = (FILTERED, False, True)
OLD = (None, False, True)


def test_an_account_that_was_closed_is_closed_until_it_comes_back(record):
    record(
        block(9, writes=[write(1, signature(9, 2))]),
        block(10, writes=[write(1, signature(10, 2), lamports=0)]),
        block(11, writes=[write(1, signature(11, 2))]),
    )
    assert told([1], 9) == told([1], 11) == [LIVES]
    assert told([1], 10) == told([1], 11, 1) == [(CLOSED, True, False)]
    assert told([1], 10, 1) == [LIVES]


def test_in_an_archive_from_the_middle_of_a_chain_nobody_can_tell(record):
    record(block(9), block(10))
    assert told([1], 10) == [UNKNOWN]


def test_what_no_slot_since_genesis_has_never_existed(record):
    record(genesis(1), block(1), block(2, writes=[write(2)]))
    assert told([1, 2, 3], 1) == [LIVES, *[(NEVER_EXISTED, True, False)] * 2]
    assert told([1, 2, 3], 2) == [LIVES, LIVES, (NEVER_EXISTED, True, False)]


def test_a_slot_0_without_the_accounts_of_genesis_is_no_beginning(record):
    record(block(0, writes=[write(1)]), block(1))
    assert told([1, 2], 1) == [LIVES, UNKNOWN]


def test_in_a_gap_an_account_may_have_come_and_gone(record):
    record(genesis(), block(1), block(5, parent=3), block(6))
    assert told([1], 1) == [(NEVER_EXISTED, True, False)]
    assert told([1], 2) == told([1], 4) == told([1], 6) == [UNKNOWN]
    record(block(2), block(3, parent=2))
    assert told([1], 6) == [(NEVER_EXISTED, True, False)]


def test_what_is_not_in_a_whole_snapshot_is_gone_but_may_have_been(record):
    record(block(9), block(10), block(11), block(14, parent=12))
    record_baseline([write(1)], 10, source="all", now=NOW, whole=True)
    assert told([1, 2], 9) == [UNKNOWN, UNKNOWN]
    assert told([1, 2], 10, 3) == [UNKNOWN, UNKNOWN]
    assert told([1, 2], 10) == told([1, 2], 11) == [LIVES, GONE]
    assert told([1, 2], 14) == [LIVES, UNKNOWN]
    record_baseline([write(1)], 13, source="all, later", now=NOW, whole=True)
    assert told([1, 2], 13) == told([1, 2], 14) == [LIVES, GONE]


def test_a_part_of_a_snapshot_says_nothing_of_what_it_lacks(record):
    record(block(9), block(10))
    record_baseline([write(1)], 9, source="some", now=NOW)
    assert told([1, 2], 10) == [LIVES, UNKNOWN]
    record_baseline([write(1)], 9, source="some", now=NOW, whole=True)
    assert told([1, 2], 10) == [LIVES, GONE]


def test_a_snapshot_says_nothing_across_slots_below_the_lowest_archived(record):
    record_baseline([write(1)], 5, source="all", now=NOW, whole=True)
    record(block(9, parent=7), block(10))
    assert told([2], 9) == [UNKNOWN]
    record_baseline([write(1)], 7, source="all", now=NOW, whole=True)
    assert told([2], 9) == [GONE]


def test_a_base_of_an_account_that_was_gone_does_not_say_that_it_never_was(record):
    record(block(9), block(10))
    record_baseline([write(1)], 9, source="node", now=NOW)
    AccountChange.objects.update(lamports=0)
    assert told([1], 10) == [GONE]


def test_retention_leaves_a_whole_archive_whole_of_the_living(record):
    record(genesis(1, 2), block(1, writes=[write(2, lamports=0)]))
    record(block(EDGE + 1, parent=1), block(EDGE + 2, writes=[write(4)]))
    assert told([1, 2, 3], EDGE + 1) == [
        LIVES,
        (CLOSED, True, False),
        (NEVER_EXISTED, True, False),
    ]
    prune(EDGE + 1)
    assert told([1, 2, 3, 4], EDGE + 1) == [LIVES, GONE, GONE, GONE]
    prune(EDGE + 2)
    assert told([1, 2, 3, 4], EDGE + 2) == [LIVES, GONE, GONE, LIVES]


def test_retention_makes_nothing_whole_that_had_a_gap(record):
    record(genesis(1), block(3, parent=1), block(EDGE + 1, parent=3), block(EDGE + 2))
    prune(2)
    assert told([1, 2], EDGE + 2) == [LIVES, UNKNOWN]
    prune(EDGE + 2)
    assert told([1, 2], EDGE + 2) == [LIVES, UNKNOWN]
    record_baseline([write(1)], EDGE + 2, source="all", now=NOW, whole=True)
    assert told([1, 2], EDGE + 2) == [LIVES, GONE]


def test_an_edge_in_a_gap_is_whole_below_it_and_not_behind(record):
    record(genesis(1), block(EDGE + 10, parent=EDGE + 7), block(EDGE + 11))
    archive_gaps.open_gap(
        EDGE - 2, EDGE + 2, status=GapStatus.MISSING, cause="stream_lost", now=NOW
    )
    prune(EDGE)
    assert told([1, 2], EDGE + 11) == [LIVES, UNKNOWN]


def test_an_account_with_a_filter_of_its_own_is_old_whatever_is_known_of_it(record):
    record(genesis(1), block(1, writes=[write(2, lamports=0)]))
    for account in (1, 2, 3):
        FilteredPubkey.objects.create(pubkey=key(account))
    assert told([1, 2, 3], 1) == [OLD, DROPPED, DROPPED]


def test_accounts_of_a_filtered_owner_are_old(record):
    record(genesis(1), block(1, writes=[write(2, owner=OTHER)]))
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    assert told([1, 2, 3], 1) == [OLD, LIVES, (NEVER_EXISTED, True, False)]


def test_a_dropped_write_makes_old_what_was_known_before_it(record):
    record(genesis(1), block(1, writes=[write(2, owner=OTHER)]), block(2))
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    record(block(3, writes=[write(2), write(3)]), block(4))
    assert told([2, 3], 2) == [LIVES, (NEVER_EXISTED, True, False)]
    assert told([2, 3, 4], 3) == told([2, 3, 4], 4) == [OLD, DROPPED, (NEVER_EXISTED, True, False)]


def test_an_account_that_left_its_filtered_owner_is_known_again_some_slots_later(record):
    record(genesis(), block(1))
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    record(block(2, writes=[write(1)]))
    record(block(90, parent=2, writes=[write(1, lamports=0, owner=OTHER)]), block(91))
    assert told([1], 2) == [DROPPED]
    assert told([1], 90) == told([1], 91) == [(CLOSED, True, False)]
    record(block(92, writes=[write(1)]))
    assert told([1], 91) == told([1], 92) == [DROPPED]


@pytest.mark.parametrize("own", [True, False])
def test_a_filter_that_was_lifted_is_not_forgotten(record, own):
    def filtered(on):
        if own:
            filters.filter_account(Pubkey(key(1)), filtered=on)
        else:
            filters.filter_owner(Pubkey(PROGRAM), filtered=on)

    record(genesis(1), block(1))
    filtered(True)
    record(block(2, writes=[write(1)]))
    filtered(False)
    record(block(3), block(99, parent=3, writes=[write(1)]))
    assert told([1], 1) == [LIVES]
    assert told([1], 2) == told([1], 3) == [OLD]
    assert told([1], 99) == [LIVES]


def test_retention_does_not_make_an_old_state_new(record):
    record(genesis(1, 2, 3), block(1))
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    record(block(2, writes=[write(1), write(2)]))
    record(block(90, parent=2, writes=[write(2, owner=OTHER), write(3, owner=OTHER)]))
    filters.filter_owner(Pubkey(PROGRAM), filtered=False)
    record(block(EDGE + 1, parent=90), block(EDGE + 2))
    assert told([1, 2, 3], EDGE + 1) == [OLD, LIVES, LIVES]
    prune(EDGE + 1)
    assert told([1, 2, 3], EDGE + 1) == [OLD, LIVES, LIVES]
    record(block(EDGE + 3, writes=[write(1)]))
    assert told([1, 2, 3], EDGE + 3) == [LIVES, LIVES, LIVES]
