"""Transactions by their signature. One that is not known takes one statement, which brings the
frame of its text along; with the second of a block, the places of all are read, so that the others
take none.
"""

import struct
from itertools import count, repeat
from typing import Any, NamedTuple

from columns.caches import GenerationCache
from columns.clusters import is_clustered
from columns.raw_queries import fetch_one, fetch_together
from eventloop.faces import complete, in_thread
from historical.ledger_generations import REMOVALS
from historical.sealed.packed_index import signature_key
from historical.sealed.store import (
    frames,
    sealed_blocks,
    sealed_lookup,
    sealed_state,
)
from historical.sealed.store.sealed_blocks import SealedRow
from historical.sealed.store.sealed_lookup import OF_CANDIDATE, Lookup, SealedTransaction
from historical.sealed.store.sealed_state import Moved, Sealed
from historical.transactions.store.transactions import TransactionRow, places, sealed_row


class Located(NamedTuple):
    """A transaction's row, and the compressed frame of its text where that was read beside it: of
    a sealed one that of PackedTexts.
    """

    row: TransactionRow
    frame: bytes | None = None


class _Block(NamedTuple):
    """Where the transactions of a block stand; `packed` has _PLACE of each, in their order."""

    slot: int
    recording: int
    blockhash: bytes
    block_time: int | None
    form: int
    packed: bytes

    def row(self, position: int) -> TransactionRow:
        signature, start, length, frame = _PLACE.unpack_from(self.packed, position * _PLACE.size)
        return TransactionRow(
            self.slot,
            position,
            start,
            length,
            frame,
            signature,
            self.blockhash,
            self.block_time,
            self.form,
            self.recording,
        )


class _SealedBlock(NamedTuple):
    """The same of a sealed block."""

    of_block: TransactionRow  # of any transaction of it
    sealed: SealedRow
    signatures: list[bytes]

    def row(self, position: int) -> TransactionRow:
        frame, text = self.sealed.text_place(position)
        return self.of_block._replace(
            position=position, start=text, frame=frame, signature=self.signatures[position]
        )


# Signature, start, length and frame.
_PLACE = struct.Struct(">64siih")
_SIGNATURE_BYTES = 64
# Of larger blocks too much would be read for one transaction: 5,000 places take 2 ms.
_MOST_TRANSACTIONS = 5_000
# Bodies up to this come with the places, of larger ones each frame when it is asked for.
_LARGEST_BODY = 262_144

# Some 350 bytes each.
_places: GenerationCache[bytes, TransactionRow | tuple[_Block | _SealedBlock, int]] = (
    GenerationCache(REMOVALS, 50_000)
)
# Slots: whether a transaction was asked for since the block's places were read.
_asked: GenerationCache[int, bool] = GenerationCache(REMOVALS, 1_000)


def transaction(signature: bytes) -> Located | None:
    """Raises SealedDataDamaged."""
    return complete(atransaction(signature))


async def atransaction(signature: bytes) -> Located | None:
    """The same, awaited."""
    number = _places.now()
    found = None if number is None else _places.find(signature)
    if found is not None:
        return Located(found if isinstance(found, TransactionRow) else found[0].row(found[1]))
    return await _read(signature, number)


def transaction_now(signature: bytes) -> Located | None:
    """As the database has it, whatever is remembered. Raises SealedDataDamaged."""
    return complete(_read(signature, _places.now()))


async def _read(signature: bytes, number: int | None) -> Located | None:
    if is_clustered():
        located: Located | None = await in_thread(
            sealed_state.of_both, lambda: _read_apart(signature)
        )
    else:
        try:
            located = await _read_at_once(signature)
        except Moved:
            located = await in_thread(
                sealed_state.of_one_version, lambda _: complete(_read_at_once(signature))
            )
    if located is not None and number is not None:
        _places.keep(signature, located.row, number)
        if _is_second(located.row, number):
            await in_thread(_read_places, located.row, number)
    return located


# Its row with the frame of its text.
_LOOKUP = Lookup(
    "h.*",
    11,
    "(SELECT $2::bytea AS key) AS w"
    " LEFT JOIN LATERAL (SELECT t.slot, t.position, t.start, t.length, t.frame, t.signature,"
    " b.blockhash, b.block_time, b.form, b.xmin::text::bigint,"
    " substring(b.body FROM coalesce(b.frames[t.frame], 0) + 1"
    " FOR b.frames[t.frame + 1] - coalesce(b.frames[t.frame], 0))"
    " FROM historical_transaction t JOIN historical_block b ON b.slot = t.slot"
    " WHERE t.signature = $1 LIMIT 1) AS h ON true",
    OF_CANDIDATE,
)


async def _read_at_once(signature: bytes) -> Located | None:
    """Raises Moved, SealedDataDamaged."""
    written, sealed = await _LOOKUP.read(signature, signature_key(signature))
    if written:
        return _located(written[0][: _LOOKUP.width])
    if not sealed:
        return None
    of_candidate = sealed[0][_LOOKUP.width + 1 :]
    at = None if of_candidate[0] is None else sealed_lookup.of_row(of_candidate)
    if at is None or at.signature != signature:
        at = await in_thread(_at_place, signature)
    return None if at is None else _located_sealed(at)


def _at_place(signature: bytes) -> SealedTransaction | None:
    """Of one with the key of another signature. Raises Moved, SealedDataDamaged."""
    place = places([signature]).get(signature)
    if place is None:
        return None
    at = sealed_lookup.transaction_at(place.slot, place.position)
    if at is None:
        raise Moved
    return at


def _read_apart(signature: bytes) -> Located | None:
    """The same in a cluster."""
    row = _row_apart(signature)
    if row is not None:
        return _located(row)
    # After the other read: what is sealed meanwhile is found here.
    sealed = sealed_state.of_one_version(lambda state: _sealed_apart(signature, state()))
    return None if sealed is None else _located_sealed(sealed)


def _sealed_apart(signature: bytes, sealed: Sealed) -> SealedTransaction | None:
    for candidates in sealed_lookup.candidates_apart([signature], sealed):
        found = sealed_lookup.transaction_in(candidates)
        if found is not None:
            return found
    return None


def _located(row: tuple[Any, ...]) -> Located:
    found = TransactionRow(*row[:-1])
    frames.keep(found.slot, found.recording, found.frame, row[-1])
    return Located(found, row[-1])


def _located_sealed(found: SealedTransaction) -> Located:
    if found.data is not None:
        frames.keep_sealed(found.frame, found.data)
    return Located(sealed_row(found), found.data)


def _row_apart(signature: bytes) -> tuple[Any, ...] | None:
    """The same row by two statements, of the two tables."""
    row = fetch_one(
        "SELECT slot, position, start, length, frame, signature FROM historical_transaction"
        " WHERE signature = $1 LIMIT 1",
        signature,
    )
    if row is None:
        return None
    slot, _, _, _, frame, _ = row
    block = fetch_one(
        "SELECT blockhash, block_time, form, xmin::text::bigint,"
        " substring(body FROM coalesce(frames[$2], 0) + 1"
        " FOR frames[$2 + 1] - coalesce(frames[$2], 0))"
        " FROM historical_block WHERE slot = $1 AND body IS NOT NULL",
        slot,
        frame,
    )
    # It was sealed or taken out between the two.
    return None if block is None else (*row, *block)


def _is_second(row: TransactionRow, number: int) -> bool:
    """Of every second transaction of a block that was unknown: most that are asked for at random in
    a large ledger are the only ones of their block.
    """
    _asked.now()
    is_second = bool(_asked.find(row.slot))
    _asked.keep(row.slot, not is_second, number)
    return is_second


def _read_places(row: TransactionRow, number: int) -> None:
    """Reads the places of the whole block."""
    if row.sealed_range is not None:
        _read_sealed_places(row, number)
        return
    found = _places_apart(row) if is_clustered() else _places_at_once(row)
    if found is None:
        return
    body, ends, packed = found
    if body is not None:
        frames.keep_all(row.slot, row.recording, body, ends)
    block = _Block(row.slot, row.recording, row.blockhash, row.block_time, row.form, packed)
    starts = range(0, len(packed), _PLACE.size)
    signatures = [packed[start : start + _SIGNATURE_BYTES] for start in starts]
    places = dict(zip(signatures, zip(repeat(block), count()), strict=False))
    _places.keep_all(places, number)


def _places_apart(row: TransactionRow) -> tuple[Any, ...] | None:
    """The same from the two tables, one after the other."""
    blocks, places = fetch_together(
        [
            (
                "SELECT CASE WHEN length(body) <= $3 THEN body END, frames FROM historical_block"
                " WHERE slot = $1 AND xmin::text::bigint = $2 AND transaction_count <= $4"
                " AND body IS NOT NULL",
                row.slot,
                row.recording,
                _LARGEST_BODY,
                _MOST_TRANSACTIONS,
            ),
            (
                "SELECT signature, start, length, frame FROM historical_transaction"
                " WHERE slot = $1 ORDER BY position LIMIT $2",
                row.slot,
                _MOST_TRANSACTIONS,
            ),
        ]
    )
    if not blocks or not places:
        return None
    return (*blocks[0], b"".join(_PLACE.pack(*each) for each in places))


def _places_at_once(row: TransactionRow) -> tuple[Any, ...] | None:
    # One row of one long value: a row for each would take five times as long.
    return fetch_one(
        "SELECT CASE WHEN length(b.body) <= $3 THEN b.body END, b.frames, listed.packed"
        " FROM historical_block b, LATERAL ("
        " SELECT string_agg("
        "signature || int4send(start) || int4send(length) || int2send(frame), '') AS packed"
        " FROM (SELECT signature, start, length, frame FROM historical_transaction"
        " WHERE slot = $1 ORDER BY position) AS ordered) AS listed"
        " WHERE b.slot = $1 AND b.xmin::text::bigint = $2 AND b.transaction_count <= $4",
        row.slot,
        row.recording,
        _LARGEST_BODY,
        _MOST_TRANSACTIONS,
    )


def _read_sealed_places(row: TransactionRow, number: int) -> None:
    sealed = sealed_blocks.sealed_recording(row.slot, row.recording)
    if sealed is None or sealed.transactions > _MOST_TRANSACTIONS:
        return
    signatures = [each.signature for each in sealed_blocks.entries_of(sealed)]
    block = _SealedBlock(row, sealed, signatures)
    _places.keep_all(dict(zip(signatures, zip(repeat(block), count()), strict=False)), number)
