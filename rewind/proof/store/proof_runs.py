"""Runs of slots by state of the proof: what a range reads instead of each slot."""

from typing import NamedTuple

from django.db import connection

from chain.units import I64_MAX
from columns.queries import execute
from columns.raw_queries import exists, fetch_all, fetch_one

PROVEN, CONSISTENT = "proven", "consistent"
REFUTED, UNPROVEN = "refuted", "unproven"
# States that votes settled for the archive.
SETTLED = (PROVEN, CONSISTENT)
_COLUMNS = "first_slot, last_slot, state, reason, rests_on, rests_on_slot, before_gap"


class Basis(NamedTuple):
    """What a settled slot rests on (ProofRun.RestsOn, or empty), and the slot of that."""

    rests_on: str = ""
    slot: int | None = None


NOTHING = Basis()


class Run(NamedTuple):
    """Both ends are included. The reason is empty if votes settled it for the archive; only then it
    rests on something, or if it was so before it was lost: `before_gap` is that state.
    """

    first: int
    last: int
    state: str
    reason: str
    rests_on: str = ""
    rests_on_slot: int | None = None
    before_gap: str = ""

    @property
    def basis(self) -> Basis:
        return Basis(self.rests_on, self.rests_on_slot)


def mark(
    first: int,
    last: int,
    state: str,
    reason: str = "",
    basis: Basis = NOTHING,
    before_gap: str = "",
) -> None:
    """The slots are of this state; runs that they touch and that are the same grow. One writer at a
    time (rewind/proof/store/proof_queue.py).
    """
    around = fetch_all(
        f"SELECT {_COLUMNS} FROM rewind_proofrun"
        " WHERE first_slot <= $1 AND last_slot >= $2 AND first_slot >= coalesce((SELECT"
        " first_slot FROM rewind_proofrun WHERE first_slot < $3 ORDER BY first_slot DESC LIMIT 1),"
        " 0) ORDER BY first_slot",
        last + 1,
        first - 1,
        first,
    )
    kept: list[Run] = []
    low, high = first, last
    rest = (state, reason, *basis, before_gap)
    for row in around:
        run = Run(*row)
        if run[2:] == rest:
            low, high = min(low, run.first), max(high, run.last)
            continue
        if run.first < first:
            kept.append(run._replace(last=min(run.last, first - 1)))
        if run.last > last:
            kept.append(run._replace(first=max(run.first, last + 1)))
    kept.append(Run(low, high, *rest))
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM rewind_proofrun WHERE first_slot = ANY(%s)", [[row[0] for row in around]]
        )
        cursor.executemany(
            f"INSERT INTO rewind_proofrun ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)", kept
        )


def of_slot(slot: int) -> Run | None:
    row = fetch_one(
        f"SELECT {_COLUMNS} FROM rewind_proofrun WHERE first_slot <= $1"
        " ORDER BY first_slot DESC LIMIT 1",
        slot,
    )
    run = None if row is None else Run(*row)
    return run if run is not None and run.last >= slot else None


def between(first: int, last: int, limit: int) -> list[Run]:
    """Those that have slots of the range, clipped to it, lowest first."""
    rows = fetch_all(
        "SELECT greatest(first_slot, $1), least(last_slot, $2), state, reason, rests_on,"
        " rests_on_slot, before_gap FROM rewind_proofrun WHERE first_slot <= $2 AND last_slot >= $1"
        " ORDER BY first_slot LIMIT $3",
        first,
        min(last, I64_MAX),
        limit,
    )
    return [Run(*row) for row in rows]


def proven_through(last: int) -> int | None:
    """The highest proven slot at or below this one."""
    return _highest(last, "'proven'")


def settled_through(last: int) -> int | None:
    """The highest slot at or below this one that is proven or consistent."""
    return _highest(last, "'proven', 'consistent'")


def _highest(last: int, states: str) -> int | None:
    row = fetch_one(
        f"SELECT least(last_slot, $1) FROM rewind_proofrun WHERE state IN ({states})"
        " AND first_slot <= $1 ORDER BY first_slot DESC LIMIT 1",
        last,
    )
    return None if row is None else int(row[0])


def settled_above(slot: int) -> Run | None:
    """The lowest one above the slot that is proven or consistent."""
    row = fetch_one(
        f"SELECT {_COLUMNS} FROM rewind_proofrun WHERE state IN ('proven', 'consistent')"
        " AND first_slot > $1 ORDER BY first_slot LIMIT 1",
        slot,
    )
    return None if row is None else Run(*row)


def newest(limit: int) -> list[Run]:
    """Newest first."""
    rows = fetch_all(
        f"SELECT {_COLUMNS} FROM rewind_proofrun ORDER BY first_slot DESC LIMIT $1",
        limit,
    )
    return [Run(*row) for row in rows]


def refuted(limit: int) -> list[Run]:
    """The newest ones."""
    rows = fetch_all(
        f"SELECT {_COLUMNS} FROM rewind_proofrun WHERE state = 'refuted'"
        " ORDER BY first_slot DESC LIMIT $1",
        limit,
    )
    return [Run(*row) for row in rows]


def refuted_from(first: int, last: int) -> Run | None:
    """The lowest one that has slots of the range."""
    row = fetch_one(
        f"SELECT {_COLUMNS} FROM rewind_proofrun WHERE state = 'refuted'"
        " AND last_slot >= $1 AND first_slot <= $2 ORDER BY first_slot LIMIT 1",
        first,
        last,
    )
    return None if row is None else Run(*row)


def is_lost(slot: int) -> bool:
    """Whether the slot was settled, and is lost."""
    run = of_slot(slot)
    return run is not None and run.before_gap != ""


def is_any_lost() -> bool:
    """Whether settled slots are lost now."""
    return exists("SELECT FROM rewind_proofrun WHERE before_gap <> ''")


def cut_below(slot: int) -> None:
    """Slots below it left the window."""
    execute("DELETE FROM rewind_proofrun WHERE last_slot < %s", [slot])
    execute("UPDATE rewind_proofrun SET first_slot = %s WHERE first_slot < %s", [slot, slot])
