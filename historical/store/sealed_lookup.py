"""Sealed transactions by their signatures, and the rows of those at known places."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from columns.clusters import is_clustered
from columns.raw_queries import fetch_all, fetch_one
from historical.packed_index import DamagedBlock, SignatureIndex, signature_key
from historical.sealed_entries import PackedEntries
from historical.store import sealed_blocks, sealed_index, sealed_state
from historical.store.sealed_blocks import ENTRY, SealedRow, damaged
from historical.store.sealed_state import Moved, Run, Sealed

# Most signatures that are looked for are of the newest transactions.
_FIRST_RUNS = 16


class SealedPlace(NamedTuple):
    """Where a sealed transaction stands, and its error as JSON."""

    slot: int
    position: int
    err: str | None


def places_of(signatures: Sequence[bytes]) -> dict[bytes, SealedPlace]:
    """Signature → place, for those that are sealed. Raises SealedDataDamaged."""
    return sealed_state.of_one_version(lambda state: _places_of(signatures, state()))


def places_at(
    version: int, signatures: Sequence[bytes], sealed: Sealed
) -> dict[bytes, SealedPlace]:
    """Those of one moment, in which what is sealed had that version. Raises Moved,
    SealedDataDamaged.
    """
    if sealed.version != version:
        raise Moved
    return _places_of(signatures, sealed)


def _places_of(signatures: Sequence[bytes], sealed: Sealed) -> dict[bytes, SealedPlace]:
    found: dict[bytes, SealedPlace] = {}
    missing = list(signatures)
    for runs in _batches(sealed.signature_runs):
        if not missing:
            break
        candidates = _candidates(missing, runs, sealed.version)
        found |= _verified(candidates)
        missing = [each for each in missing if each not in found]
    return found


def _batches(runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
    for batch in (runs[:_FIRST_RUNS], runs[_FIRST_RUNS:]):
        if batch:
            yield batch


def _candidates(
    signatures: Sequence[bytes], runs: Sequence[Run], version: int
) -> list[tuple[bytes, int, int]]:
    """(signature, slot, position) of transactions whose signatures have the same keys."""
    by_run = {run.id: run for run in runs}
    keys = [signature_key(each) for each in signatures]
    candidates = []
    for number, key, block in sealed_index.blocks_with_keys(runs, keys, version):
        try:
            places = SignatureIndex.places(block, keys[key])
        except DamagedBlock as error:
            what = f"a block of index run {number}"
            raise damaged("index", number, what, error) from None
        candidates += [
            (signatures[key], *place) for place in places if by_run[number].counts(place[0])
        ]
    return candidates


def _verified(candidates: Sequence[tuple[bytes, int, int]]) -> dict[bytes, SealedPlace]:
    if not candidates:
        return {}
    if is_clustered():
        entries = sealed_blocks.entries_apart(
            [(slot, position) for _, slot, position in candidates]
        )
        rows = [(number, *each[:3]) for number, each in enumerate(entries, 1) if each is not None]
        return _matching(candidates, rows)
    rows = fetch_all(
        "SELECT w.number, s.* FROM unnest($1, $2) WITH ORDINALITY AS w(slot, position, number),"
        f" LATERAL ({ENTRY}) AS s",
        [slot for _, slot, _ in candidates],
        [position for _, _, position in candidates],
    )
    return _matching(candidates, rows)


def _matching(
    candidates: Sequence[tuple[bytes, int, int]], rows: Sequence[tuple[Any, ...]]
) -> dict[bytes, SealedPlace]:
    if len(rows) < len(candidates):
        raise Moved  # a block was removed after its place was read
    found = {}
    for number, *entry in rows:
        signature, slot, position = candidates[number - 1]
        checked = sealed_blocks.checked_entry(slot, position, *entry)
        if checked.signature == signature:
            found[signature] = SealedPlace(slot, position, checked.err)
    return found


class SealedTransaction(NamedTuple):
    """A sealed transaction, its block's facts, and the frame of its text where it was read beside
    it; `text` is the text's index in the frame.
    """

    slot: int
    position: int
    signature: bytes
    blockhash: bytes
    block_time: int | None
    form: int
    recording: int
    sealed_range: int
    frame: int
    text: int
    data: bytes | None = None


_AT = (
    "SELECT w.slot, w.position, s.entry, s.err, s.memo, b.blockhash, b.block_time, b.form,"
    " b.xmin::text::bigint, r.sealed_range, r.frames, r.ends, r.skipped{data}"
    " FROM {places}"
    " JOIN historical_sealedblock r ON r.slot = w.slot JOIN historical_block b ON b.slot = w.slot"
    f" CROSS JOIN LATERAL ({ENTRY}) AS s"
)
_ONE = _AT.format(
    data=", (SELECT frame FROM historical_packedtexts"
    " WHERE id = r.frames[width_bucket(w.position::int, r.ends) + 1])",
    places="(SELECT $1::bigint AS slot, $2::bigint AS position) AS w",
)
_MANY = _AT.format(data="", places="unnest($1, $2) AS w(slot, position)")


def transaction_at(slot: int, position: int) -> SealedTransaction | None:
    """With the frame of its text. Raises SealedDataDamaged."""
    if is_clustered():
        return next(iter(_transactions_apart([(slot, position)])), None)
    row = fetch_one(_ONE, slot, position)
    return None if row is None else _transaction(row[:-1])._replace(data=row[-1])


def transactions_at(places: Sequence[tuple[int, int]]) -> list[SealedTransaction]:
    """Those of the (slot, position) that are sealed. Raises SealedDataDamaged."""
    if is_clustered():
        return _transactions_apart(places)
    rows = fetch_all(_MANY, [slot for slot, _ in places], [position for _, position in places])
    return [_transaction(row) for row in rows]


_BLOCKS = (
    "SELECT slot, blockhash, block_time, form, xmin::text::bigint FROM historical_block"
    " WHERE slot = ANY($1)"
)


def _transactions_apart(places: Sequence[tuple[int, int]]) -> list[SealedTransaction]:
    """Without the frames of their texts, whose numbers are known only then."""
    if not places:
        return []
    blocks = {slot: rest for slot, *rest in fetch_all(_BLOCKS, list({slot for slot, _ in places}))}
    entries = sealed_blocks.entries_apart(places)
    return [
        _transaction((*place, *each[:3], *blocks[place[0]], *each[3:]))
        for place, each in zip(places, entries, strict=True)
        if each is not None and place[0] in blocks
    ]


def _transaction(row: Sequence[Any]) -> SealedTransaction:
    slot, position, entry, err, memo, blockhash, time, form, recording, *places = row
    sealed_range, frames, ends, skipped = places
    checked = sealed_blocks.checked_entry(slot, position, entry, err, memo)
    empty = PackedEntries(b"", [], [], [])
    sealed = SealedRow(slot, sealed_range, frames, ends, skipped, empty)
    frame, text = sealed.text_place(position)
    return SealedTransaction(
        *(slot, position, checked.signature, blockhash, time, form, recording),
        *(sealed_range, frame, text),
    )


def by_signature(signature: bytes) -> SealedTransaction | None:
    """The sealed transaction of that signature. Raises SealedDataDamaged."""
    return sealed_state.of_one_version(lambda state: _by_signature(signature, state()))


def _by_signature(signature: bytes, sealed: Sealed) -> SealedTransaction | None:
    for runs in _batches(sealed.signature_runs):
        for _, slot, position in _candidates([signature], runs, sealed.version):
            found = transaction_at(slot, position)
            if found is not None and found.signature == signature:
                return found
    return None
