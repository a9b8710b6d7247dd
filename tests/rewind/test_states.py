"""Point reads against a model, through backfills, baselines, retention and indexing."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from rewind.accounts.store import account_reads
from rewind.accounts.store.states import newest_state, newest_states
from rewind.baselines.services.baseline import record_baseline
from rewind.errors import BadBaseline
from rewind.models import ArchiveState
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store import partitions
from rewind.sealed.services import segments
from rewind.sealed.store import segments as store
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, signature, write

ACCOUNTS = range(5)
SLOTS = 130


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Partitions of 8 slots, segments of 3 partitions."""
    monkeypatch.setattr(partitions, "PARTITION_SLOTS", 8)
    monkeypatch.setattr(partitions, "SEGMENT_SLOTS", 24)
    partitions.forget()
    yield
    partitions.forget()


class Model:
    """Every row that was ever told, and where the window begins."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[tuple[int, int], int]] = {n: {} for n in ACCOUNTS}
        self.slots: set[int] = set()
        self.first_kept = 0

    def record(self, slot: int, told: dict[int, int]) -> None:
        if slot < self.first_kept or slot in self.slots:
            told = {}
        self.slots.add(slot)
        for account, lamports in told.items():
            self.rows[account][slot, account % 4] = lamports

    def at(self, account: int, position: Position) -> int | None:
        """Lamports; None for accounts that are closed or were never told of."""
        known = [place for place in self.rows[account] if place <= tuple(position)]
        return self.rows[account][max(known)] or None if known else None


def check(model: Model) -> None:
    layout = ArchiveState.objects.get().layout
    for slot in {model.first_kept, *range(model.first_kept, SLOTS, 7), SLOTS, SLOTS + 60}:
        for order in (-1, 2, END_OF_SLOT):
            position = Position(slot, order)
            expected = {n: model.at(n, position) for n in ACCOUNTS}
            several = newest_states([key(n) for n in ACCOUNTS], position, layout)
            for n in ACCOUNTS:
                one = newest_state(key(n), position, layout)
                assert account_reads.look(key(n), position)[1] == one
                assert one == several.get(key(n)), (n, position)
                assert (one.lamports or None if one else None) == expected[n], (n, position)


told = st.dictionaries(st.sampled_from(ACCOUNTS), st.integers(0, 99), max_size=3)
steps = st.one_of(
    st.tuples(st.just("record"), st.integers(0, SLOTS - 1), told),
    st.tuples(st.just("base"), st.integers(0, SLOTS - 1), told),
    st.tuples(st.just("prune"), st.integers(0, SLOTS - 20), st.none()),
    st.tuples(st.just("index"), st.none(), st.none()),
    st.tuples(st.just("slice"), st.none(), st.none()),
)


@settings(max_examples=examples(15))
@given(st.lists(steps, min_size=8, max_size=30))
def test_a_state_is_the_newest_row_whatever_came_in_which_order(db, small, history):
    with transaction.atomic():
        model = Model()
        # A slot far above: all segments below it are sealed from the start.
        record_slots([block(SLOTS, parent=SLOTS - 1, writes=[write(99)])], source="s", now=NOW)
        for name, slot, lamports in history:
            if name == "record":
                writes = [
                    write(n, signature(slot, n % 4), lamports=value)
                    for n, value in lamports.items()
                ]
                record_slots([block(slot, writes=writes)], source="s", now=NOW)
                model.record(slot, lamports)
            elif name == "base":
                alive = {n: value for n, value in lamports.items() if value}
                accounts = [write(n, lamports=value) for n, value in alive.items()]
                try:
                    record_baseline(accounts, slot, source="b", now=NOW)
                except BadBaseline:
                    assert slot < model.first_kept
                    continue
                for n, value in alive.items():
                    model.rows[n].setdefault((slot, END_OF_SLOT), value)
            elif name == "prune":
                prune(slot)
                model.first_kept = max(model.first_kept, slot)
            elif name == "slice":
                segments.index_next(slices=1)  # stopped behind the first of its transactions
            else:
                while store.progress().indexed < partitions.segment_of(SLOTS + 1 - 8):
                    if segments.index_next() is None:
                        break
        check(model)
        transaction.set_rollback(True)
