"""Queries on transactions."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.generation_cache import GenerationCache
from columns.raw_queries import fetch_all, fetch_one
from historical.ledger_generations import REMOVALS

_LOOKED_UP_AT_ONCE = 1_000


class TransactionRow(NamedTuple):
    """One transaction, and where its text stands in its block's body; `recording` is another when
    the block was taken out and recorded again.
    """

    slot: int
    position: int
    start: int
    length: int
    frame: int
    signature: bytes
    blockhash: bytes
    block_time: int | None
    form: int
    recording: int


class ListedRow(NamedTuple):
    """What a list of transactions shows; err is JSON, memo a JSON string."""

    slot: int
    position: int
    signature: bytes
    err: str | None
    memo: str | None
    block_time: int | None


_SELECT = (
    "SELECT t.slot, t.position, t.start, t.length, t.frame, t.signature,"
    " b.blockhash, b.block_time, b.form, b.xmin::text::bigint"
    " FROM historical_transaction t JOIN historical_block b ON b.slot = t.slot"
)


_statuses: GenerationCache[bytes, tuple[int, str | None]] = GenerationCache(REMOVALS, 20_000)


def transactions_at(places: list[tuple[int, int]]) -> list[TransactionRow]:
    """The transactions at (slot, position), in the order of the places."""
    rows = fetch_all(
        _SELECT + " JOIN unnest($1, $2) WITH ORDINALITY AS w(slot, position, n)"
        " ON w.slot = t.slot AND w.position = t.position ORDER BY w.n",
        [slot for slot, _ in places],
        [position for _, position in places],
    )
    return [TransactionRow(*row) for row in rows]


def place_of(signature: bytes) -> tuple[int, int] | None:
    """(slot, position) of a transaction."""
    row = fetch_one(
        "SELECT slot, position FROM historical_transaction WHERE signature = $1 LIMIT 1", signature
    )
    return None if row is None else (row[0], row[1])


class Place(NamedTuple):
    """Where a transaction stands, and its error as JSON."""

    slot: int
    position: int
    err: str | None


def places(signatures: Sequence[bytes]) -> dict[bytes, Place]:
    """Signature → place, for those that the ledger holds."""
    found: dict[bytes, Place] = {}
    for at in range(0, len(signatures), _LOOKED_UP_AT_ONCE):
        rows = fetch_all(
            "SELECT signature, slot, position, err FROM historical_transaction"
            " WHERE signature = ANY($1)",
            signatures[at : at + _LOOKED_UP_AT_ONCE],
        )
        found |= {signature: Place(*rest) for signature, *rest in rows}
    return found


def statuses(signatures: list[bytes]) -> dict[bytes, tuple[int, str | None]]:
    """Signature → (slot, err as JSON or None), for those that the ledger holds."""
    number = _statuses.now()
    found: dict[bytes, tuple[int, str | None]] = {}
    if number is not None:
        for each in signatures:
            status = _statuses.find(each)
            if status is not None:
                found[each] = status
    missing = [each for each in signatures if each not in found]
    if not missing:
        return found  # an empty list has no type that PostgreSQL could compare
    rows = fetch_all(
        "SELECT signature, slot, err FROM historical_transaction WHERE signature = ANY($1)",
        missing,
    )
    for signature, slot, err in rows:
        found[signature] = (slot, err)
        _statuses.keep(signature, (slot, err), number)
    return found


def listed(places: list[tuple[int, int]]) -> list[ListedRow]:
    """The transactions at (slot, position), in the order of the places."""
    rows = fetch_all(
        "SELECT t.slot, t.position, t.signature, t.err, t.memo, b.block_time"
        " FROM unnest($1, $2) WITH ORDINALITY AS w(slot, position, n)"
        " JOIN historical_transaction t ON t.slot = w.slot AND t.position = w.position"
        " JOIN historical_block b ON b.slot = t.slot ORDER BY w.n",
        [slot for slot, _ in places],
        [position for _, position in places],
    )
    return [ListedRow(*row) for row in rows]


class ListedColumns(NamedTuple):
    """What lists of transactions show, by column: errs are JSON, memos JSON strings or `null`,
    times Unix seconds or `null`.
    """

    slots: Sequence[int]
    signatures: list[bytes]
    errs: list[str]
    memos: list[str]
    times: list[str]


def listed_columns(places: Sequence[tuple[int, int]]) -> ListedColumns:
    """The transactions at (slot, position), in the order of the places. One row of five long values
    is read in a fifth of the time that their rows take.
    """
    # No JSON text has a line break: it stands between them.
    row = fetch_one(
        "SELECT array_agg(n::int), string_agg(signature, ''), string_agg(err, E'\n'),"
        " string_agg(memo, E'\n'), string_agg(block_time, E'\n') FROM ("
        " SELECT w.n, t.signature, coalesce(t.err, 'null') AS err,"
        " coalesce(t.memo, 'null') AS memo, coalesce(b.block_time::text, 'null') AS block_time"
        " FROM unnest($1, $2) WITH ORDINALITY AS w(slot, position, n)"
        " JOIN historical_transaction t ON t.slot = w.slot AND t.position = w.position"
        " JOIN historical_block b ON b.slot = t.slot ORDER BY w.n) AS listed",
        [slot for slot, _ in places],
        [position for _, position in places],
    )
    if row is None or row[0] is None:
        return ListedColumns([], [], [], [], [])
    numbers, signatures, *texts = row
    slots = [places[number - 1][0] for number in numbers]
    return ListedColumns(slots, _each_64(signatures), *(text.split("\n") for text in texts))


def _each_64(signatures: bytes) -> list[bytes]:
    return [signatures[at : at + 64] for at in range(0, len(signatures), 64)]


def signatures_of_recording(slot: int, recording: int) -> list[bytes]:
    """The first signatures of a block's transactions, in order; none of one that is gone."""
    rows = fetch_all(
        "SELECT t.signature FROM historical_transaction t"
        " JOIN historical_block b ON b.slot = t.slot"
        " WHERE t.slot = $1 AND b.xmin::text::bigint = $2 ORDER BY t.position",
        slot,
        recording,
    )
    return [signature for (signature,) in rows]


def signatures_of(slot: int) -> list[bytes]:
    """The first signatures of a block's transactions, in order."""
    row = fetch_one(
        "SELECT string_agg(signature, '') FROM (SELECT signature FROM historical_transaction"
        " WHERE slot = $1 ORDER BY position) AS listed",
        slot,
    )
    return [] if row is None or row[0] is None else _each_64(row[0])
