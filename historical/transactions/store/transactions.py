"""Queries on transactions, whether their blocks are sealed or not."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from columns.caches import GenerationCache
from columns.clusters import is_clustered
from columns.raw_queries import afetch_one, fetch_all, fetch_one, fetch_together
from eventloop.faces import complete, in_thread
from historical.ledger_generations import REMOVALS
from historical.sealed.entries import ENTRY_BYTES, SIGNATURE_BYTES
from historical.sealed.packed_index import signature_key
from historical.sealed.store import sealed_blocks, sealed_lookup, sealed_state
from historical.sealed.store.sealed_blocks import ENTRY, ERR
from historical.sealed.store.sealed_index import PLACE
from historical.sealed.store.sealed_lookup import (
    Candidate,
    Lookup,
    Place,
    SealedTransaction,
)
from historical.sealed.store.sealed_state import VERSION_QUERY, Moved, Sealed
from historical.transactions.store import apart
from historical.transactions.store.apart import ListedColumns, ListedRow

_LOOKED_UP_AT_ONCE = 1_000
# Their rows take some 100 µs to read.
_MOST_ON_LOOP = 16


class TransactionRow(NamedTuple):
    """One transaction, and where its text stands in its block's body; `recording` is another when
    the block was taken out and recorded again, or sealed. Of a sealed one `frame` is the number of
    PackedTexts and `start` the text's index in it.
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
    sealed_range: int | None = None


def sealed_row(found: SealedTransaction) -> TransactionRow:
    return TransactionRow(
        found.slot,
        found.position,
        found.text,
        0,
        found.frame,
        found.signature,
        found.blockhash,
        found.block_time,
        found.form,
        found.recording,
        found.sealed_range,
    )


_SELECT = (
    "SELECT t.slot, t.position, t.start, t.length, t.frame, t.signature,"
    " b.blockhash, b.block_time, b.form, b.xmin::text::bigint"
    " FROM historical_transaction t JOIN historical_block b ON b.slot = t.slot"
)


_statuses: GenerationCache[bytes, tuple[int, str | None]] = GenerationCache(REMOVALS, 20_000)


def transactions_at(places: list[tuple[int, int]]) -> list[TransactionRow]:
    """The transactions at (slot, position), in the order of the places."""
    return sealed_state.of_both(
        lambda: _transactions_at(places), lambda found: len(found) == len(places)
    )


def _transactions_at(places: list[tuple[int, int]]) -> list[TransactionRow]:
    rows = (
        _rows_apart(places)
        if is_clustered()
        else fetch_all(
            _SELECT + " JOIN unnest((SELECT $1), (SELECT $2)) WITH ORDINALITY"
            " AS w(slot, position, n) ON w.slot = t.slot AND w.position = t.position ORDER BY w.n",
            [slot for slot, _ in places],
            [position for _, position in places],
        )
    )
    found = [TransactionRow(*row) for row in rows]
    if len(found) == len(places):
        return found
    rows_at = {(row.slot, row.position): row for row in found}
    missing = [place for place in places if place not in rows_at]
    # After the others: what is sealed meanwhile is found here.
    for each in sealed_lookup.transactions_at(missing):
        rows_at[each.slot, each.position] = sealed_row(each)
    return [rows_at[place] for place in places if place in rows_at]


def _rows_apart(places: Sequence[tuple[int, int]]) -> list[tuple[Any, ...]]:
    """What _SELECT gives for the places, in their order, by two statements."""
    found = apart.transactions_at(places)
    blocks = apart.blocks_of({row[0] for row in found.values()})
    return [
        (*found[place][:6], *blocks[place[0]][:4])
        for place in places
        if place in found and place[0] in blocks
    ]


def place_of(signature: bytes) -> tuple[int, int] | None:
    """(slot, position) of a transaction."""
    return complete(aplace_of(signature))


async def aplace_of(signature: bytes) -> tuple[int, int] | None:
    """The same, awaited."""
    found = (await _aplaces([signature])).get(signature)
    return None if found is None else found[:2]


def other_place_of(signature: bytes, slot: int, position: int) -> tuple[int, int] | None:
    """Another (slot, position) at which the index has the signature as well."""
    found = places([signature], but=(slot, position)).get(signature)
    return None if found is None else found[:2]


_NOWHERE = (-1, -1)


def places(signatures: Sequence[bytes], *, but: tuple[int, int] = _NOWHERE) -> dict[bytes, Place]:
    """Signature → place, for those that the ledger holds at any (slot, position) but the one."""
    found: dict[bytes, Place] = {}
    for at in range(0, len(signatures), _LOOKED_UP_AT_ONCE):
        some = signatures[at : at + _LOOKED_UP_AT_ONCE]
        read = partial(_places_apart if is_clustered() else _places_at_once, some, but)
        found |= sealed_state.of_one_version(read)
    return found


_ROWS = (
    "SELECT signature, slot, position, err FROM historical_transaction"
    " WHERE signature = {} AND (slot, position) <> (${}::int8, ${}::int4)"
)
_OF_ONE, _OF_ANY = _ROWS.format("w.signature", 3, 4), _ROWS.format("ANY($1)", 2, 3)
# The SELECTs hide the arrays' lengths: of one signature PostgreSQL would plan again each time, for
# 300 µs.
_LOOKUP = Lookup(
    "h.slot, h.position, h.err, w.number",
    4,
    "unnest((SELECT $1), (SELECT $2)) WITH ORDINALITY AS w(signature, key, number)"
    f" LEFT JOIN LATERAL ({_OF_ONE} ORDER BY slot DESC, position DESC LIMIT 1) AS h ON true",
    f"SELECT w.slot, w.position, s.* FROM ({PLACE}) AS w CROSS JOIN LATERAL ({ENTRY}) AS s",
)


async def _places(signatures: Sequence[bytes], but: tuple[int, int]) -> dict[bytes, Place]:
    """All of one moment. Raises Moved, SealedDataDamaged."""
    keys = [signature_key(each) for each in signatures]
    written, sealed = await _LOOKUP.read(signatures, keys, *but)
    found = {
        signatures[number - 1]: Place(slot, position, err)
        for slot, position, err, number, *_ in written
    }
    for _, _, _, number, _, *of_candidate in sealed:
        signature = signatures[number - 1]
        place = sealed_lookup.place_of(signature, of_candidate)
        if place is None or place[:2] == but:
            return await in_thread(_places_of_every_candidate, signatures, keys, but)
        found[signature] = place
    return found


def _places_at_once(
    signatures: Sequence[bytes], but: tuple[int, int], _state: Callable[[], Sealed]
) -> dict[bytes, Place]:
    return complete(_places(signatures, but))


def _places_of_every_candidate(
    signatures: Sequence[bytes], keys: Sequence[bytes], but: tuple[int, int]
) -> dict[bytes, Place]:
    """All of one moment. Raises Moved."""
    found: dict[bytes, Place] = {}
    candidates: list[Candidate] = []
    for slot, position, err, number, *candidate in fetch_all(_LOOKUP.every, signatures, keys, *but):
        signature = signatures[number - 1]
        if slot is not None:
            found[signature] = Place(slot, position, err)
        elif candidate[0] is not None:
            run, removed, block = candidate
            candidates.append((signature, run, removed, block))
    return sealed_lookup.places_in(candidates, but) | found


def _places_apart(
    signatures: Sequence[bytes], but: tuple[int, int], state: Callable[[], Sealed]
) -> dict[bytes, Place]:
    """The same in a cluster. What is sealed between two statements has another version."""
    of_any = f"{_OF_ANY} ORDER BY slot, position"
    ((version,),), rows = fetch_together([(VERSION_QUERY,), (of_any, signatures, *but)])
    found = {signature: Place(*rest) for signature, *rest in rows}
    missing = [each for each in signatures if each not in found]
    sealed = state() if missing and version else None
    if sealed is None:
        return found
    if sealed.version != version:
        raise Moved
    for candidates in sealed_lookup.candidates_apart(missing, sealed):
        found = sealed_lookup.places_in(candidates, but) | found
        if len(found) == len(signatures):
            break
    return found


async def astatuses(signatures: list[bytes]) -> dict[bytes, tuple[int, str | None]]:
    """Signature → (slot, err as JSON or None), for those that the ledger holds; all of one
    moment. Awaited; a thread reads many.
    """
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
    read = await _aplaces(missing)
    if found and REMOVALS.read() != number:
        # What was remembered may have been removed before the others were read.
        found, read = {}, await _aplaces(signatures)
    statuses = {signature: (place.slot, place.err) for signature, place in read.items()}
    _statuses.keep_all(statuses, number)
    return found | statuses


async def _aplaces(signatures: list[bytes]) -> dict[bytes, Place]:
    if len(signatures) <= _MOST_ON_LOOP and not is_clustered():
        with suppress(Moved):
            return await _places(signatures, _NOWHERE)
    return await in_thread(places, signatures)


# Of places, in their order; a sealed one has an entry in place of a row. OFFSET 0: it is cut
# out once. One row of five long values is read in a fifth of the time that their rows take. No JSON
# text has a line break, or is empty: a line break stands between them.
_ERR = ERR.format(block="l", entry="l.entry")
# Makes a row's signature as long as an entry; no entry ends so.
_PADDING = b"\xff" * (ENTRY_BYTES - SIGNATURE_BYTES)
_LISTED = (
    "SELECT array_agg(n::int), bool_or(is_sealed), string_agg(entry, ''),"
    " string_agg(err, E'\n'), string_agg(memo, E'\n'), string_agg(block_time, E'\n') FROM ("
    " SELECT l.n, l.signature IS NULL AS is_sealed,"
    rf" coalesce(l.signature || '\x{_PADDING.hex()}'::bytea, l.entry) AS entry,"
    f" coalesce(l.err, {_ERR}, '') AS err, coalesce(l.memo, l.sealed_memo, 'null') AS memo,"
    " coalesce(l.block_time::text, 'null') AS block_time"
    " FROM (SELECT w.slot, w.position, w.n, t.signature, t.err, t.memo, b.block_time, s.errs,"
    f" substring(s.entries FROM w.position::int * {ENTRY_BYTES} + 1 FOR {ENTRY_BYTES}) AS entry,"
    " s.memos[array_position(s.memo_positions, w.position::int)] AS sealed_memo"
    " FROM unnest((SELECT $1), (SELECT $2)) WITH ORDINALITY AS w(slot, position, n)"
    " JOIN historical_block b ON b.slot = w.slot"
    " LEFT JOIN historical_transaction t ON t.slot = w.slot AND t.position = w.position"
    " LEFT JOIN historical_sealedblock s ON s.slot = CASE WHEN b.body IS NULL THEN w.slot END"
    " OFFSET 0) AS l"
    f" WHERE l.signature IS NOT NULL OR octet_length(l.entry) = {ENTRY_BYTES} ORDER BY l.n"
    ") AS listed"
)


def listed(places: list[tuple[int, int]]) -> list[ListedRow]:
    """The transactions at (slot, position), in the order of the places."""
    if is_clustered():
        return [row for _, row in apart.listed(places)]
    found = []
    columns = complete(listed_columns(places))
    for slot, position, signature, err, memo, time in zip(*columns, strict=True):
        block_time = None if time == "null" else int(time)
        row = ListedRow(slot, position, signature, err or None, _given(memo), block_time)
        found.append(row)
    return found


async def listed_columns(places: Sequence[tuple[int, int]]) -> ListedColumns:
    """The same by columns, awaited."""
    if is_clustered():
        return apart.columns_of([row for _, row in apart.listed(places)])
    row = await afetch_one(
        _LISTED, [slot for slot, _ in places], [position for _, position in places]
    )
    if row is None or row[0] is None:
        return ListedColumns([], [], [], [], [], [])
    numbers, has_sealed, packed, *texts = row
    starts = range(0, len(packed), ENTRY_BYTES)
    errs, memos, times = (text.split("\n") for text in texts)
    is_whole = numbers == [*range(1, len(places) + 1)]
    found = places if is_whole else [places[number - 1] for number in numbers]
    slots, positions = zip(*found, strict=True)
    if has_sealed:
        entries = [packed[at : at + ENTRY_BYTES] for at in starts]
        for place, entry, err, memo in zip(found, entries, errs, memos, strict=True):
            if entry[SIGNATURE_BYTES:] != _PADDING:
                slot, position = place
                sealed_blocks.checked_entry(slot, position, entry, err or None, _given(memo))
    signatures = [packed[at : at + SIGNATURE_BYTES] for at in starts]
    return ListedColumns(slots, positions, signatures, errs, memos, times)


def _given(text: str) -> str | None:
    return None if text == "null" else text


def _each_64(signatures: bytes) -> list[bytes]:
    return [signatures[at : at + 64] for at in range(0, len(signatures), 64)]


_SIGNATURES = "SELECT signature FROM historical_transaction WHERE slot = $1 ORDER BY position"


def signatures_of_recording(slot: int, recording: int) -> list[bytes]:
    """The first signatures of a block's transactions, in order; none of one that is gone."""
    # The block last: while it is this recording, so were the rows that were read before it.
    rows, there = fetch_together(
        [
            (_SIGNATURES, slot),
            (f"{sealed_blocks.RECORDING} AND body IS NOT NULL", slot, recording),
        ]
    )
    if there and rows:
        return [signature for (signature,) in rows]
    sealed = sealed_blocks.sealed_recording(slot, recording)
    return [] if sealed is None else [each.signature for each in sealed_blocks.entries_of(sealed)]


def signatures_of(slot: int) -> list[bytes]:
    """The first signatures of a block's transactions, in order."""
    return sealed_state.of_both(lambda: _signatures_of(slot))


def _signatures_of(slot: int) -> list[bytes]:
    if is_clustered():
        rows = fetch_all(_SIGNATURES, slot)
        if rows:
            return [signature for (signature,) in rows]
    row = (
        None
        if is_clustered()
        else fetch_one(
            "SELECT string_agg(signature, '') FROM (SELECT signature FROM historical_transaction"
            " WHERE slot = $1 ORDER BY position) AS listed",
            slot,
        )
    )
    if row is not None and row[0] is not None:
        return _each_64(row[0])
    sealed = sealed_blocks.sealed_block(slot)
    return [] if sealed is None else [each.signature for each in sealed_blocks.entries_of(sealed)]
