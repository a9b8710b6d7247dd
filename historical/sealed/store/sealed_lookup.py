"""Sealed transactions by their signatures, and the rows of those at known places."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from columns.clusters import is_clustered
from columns.raw_queries import afetch_all, fetch_all, fetch_one
from columns.statements import Parameter
from historical.sealed.entries import PackedEntries
from historical.sealed.packed_index import DamagedBlock, SignatureIndex, signature_key
from historical.sealed.store import sealed_blocks, sealed_index
from historical.sealed.store.sealed_blocks import ENTRY, SealedRow, damaged
from historical.sealed.store.sealed_index import CANDIDATES, EVERY, PLACE
from historical.sealed.store.sealed_state import Moved, Sealed, counts

# In a cluster: most signatures that are looked for are of the newest transactions.
_FIRST_RUNS = 16


Rows = list[tuple[Any, ...]]


class _Expected:
    """What look-ups begin with: whether the one before found something sealed."""

    is_sealed = False


_expected = _Expected()


class Lookup:
    """The statements that look signatures up. Their rows have `columns`, `width` of them: the
    first is null for a signature `w` without a row `h`, and then the run of a candidate.

    `rows` brings no more; `every` has a row for each candidate, with what the run does not count
    and the block. `both` brings what `candidate` selects of the newest: it finds what is sealed,
    and takes 35 µs more of PostgreSQL for what is not.
    """

    def __init__(self, columns: str, width: int, source: str, candidate: str) -> None:
        select = f"SELECT {columns}, p.run{{}} FROM {source}{CANDIDATES}"
        self.width = width
        self.rows = select.format("", 1)
        self.every = select.format(", p.removed, p.block", EVERY)
        self.both = select.format(", s.*", 1) + f" LEFT JOIN LATERAL ({candidate}) AS s ON true"

    async def read(self, *parameters: Parameter) -> tuple[Rows, Rows]:
        """The written rows, and those of `both` that have a candidate."""
        written: Rows = []
        sealed: Rows = []
        for text in (self.both,) if _expected.is_sealed else (self.rows, self.both):
            found = await afetch_all(text, *parameters)
            written = [row for row in found if row[0] is not None]
            sealed = [row for row in found if row[0] is None and row[self.width] is not None]
            if not sealed:
                break
        if written or sealed:
            _expected.is_sealed = bool(sealed)
        return written, sealed


class Place(NamedTuple):
    """Where a transaction stands, and its error (transactions/outcomes.py)."""

    slot: int
    position: int
    err: str | None


# A signature, its key, and a block of a run that may have it: run, ranges that do not count, block.
Candidate = tuple[bytes, int, Sequence[int], bytes]


def places_in(candidates: Iterable[Candidate], but: tuple[int, int]) -> dict[bytes, Place]:
    """Signature → place, not that one, for those that are really there. Raises Moved if a block was
    removed after the candidates were read, SealedDataDamaged.
    """
    return _verified(
        [(each[0], *place) for each in candidates for place in _places(*each) if place != but]
    )


def transaction_in(candidates: Iterable[Candidate]) -> "SealedTransaction | None":
    """The transaction of the candidates' one signature, as places_in finds it."""
    for each in candidates:
        for place in _places(*each):
            found = transaction_at(*place)
            if found is None:
                raise Moved
            if found.signature == each[0]:
                return found
    return None


def place_of(signature: bytes, row: Sequence[Any]) -> Place | None:
    """The place (slot, position, and its ENTRY), if it has that signature. Raises
    SealedDataDamaged.
    """
    slot, position, *entry = row
    if slot is None:
        return None
    checked = sealed_blocks.checked_entry(slot, position, *entry)
    return Place(slot, position, checked.err) if checked.signature == signature else None


def _places(
    signature: bytes, run: int, removed: Sequence[int], block: bytes
) -> list[tuple[int, int]]:
    """(slot, position) of transactions whose signatures have the same key."""
    try:
        places = SignatureIndex.places(block, signature_key(signature))
    except DamagedBlock as error:
        raise damaged("index", run, f"a block of index run {run}", error) from None
    return [place for place in places if counts(removed, place[0])]


def candidates_apart(signatures: Sequence[bytes], sealed: Sealed) -> Iterator[list[Candidate]]:
    """Those of a cluster, in turn of the newest runs and of all others. Raises Moved."""
    keys = [signature_key(each) for each in signatures]
    for runs in (sealed.signature_runs[:_FIRST_RUNS], sealed.signature_runs[_FIRST_RUNS:]):
        removed = {run.id: run.removed for run in runs}
        blocks = sealed_index.blocks_with_keys(runs, keys, sealed.version) if runs else []
        yield [(signatures[key], run, removed[run], block) for run, key, block in blocks]


def _verified(places: Sequence[tuple[bytes, int, int]]) -> dict[bytes, Place]:
    """Of (signature, slot, position)."""
    if not places:
        return {}
    if is_clustered():
        entries = sealed_blocks.entries_apart([(slot, position) for _, slot, position in places])
        rows = [(number, *each[:3]) for number, each in enumerate(entries, 1) if each is not None]
        return _matching(places, rows)
    rows = fetch_all(
        "SELECT w.number, s.* FROM unnest((SELECT $1), (SELECT $2)) WITH ORDINALITY"
        " AS w(slot, position, number),"
        f" LATERAL ({ENTRY}) AS s",
        [slot for _, slot, _ in places],
        [position for _, _, position in places],
    )
    return _matching(places, rows)


def _matching(
    places: Sequence[tuple[bytes, int, int]], rows: Sequence[tuple[Any, ...]]
) -> dict[bytes, Place]:
    if len(rows) < len(places):
        raise Moved
    found = {}
    # The highest of one that is stored twice.
    for number, *entry in sorted(rows, key=lambda row: places[row[0] - 1][1:]):
        signature, slot, position = places[number - 1]
        checked = sealed_blocks.checked_entry(slot, position, *entry)
        if checked.signature == signature:
            found[signature] = Place(slot, position, checked.err)
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
    places="{} AS w",
)
_AT_PLACE = _ONE.format("(SELECT $1::bigint AS slot, $2::bigint AS position)")
# What there is at the place of a candidate `p`.
OF_CANDIDATE = _ONE.format(f"({PLACE})")
_MANY = _AT.format(data="", places="unnest((SELECT $1), (SELECT $2)) AS w(slot, position)")


def transaction_at(slot: int, position: int) -> SealedTransaction | None:
    """With the frame of its text. Raises SealedDataDamaged."""
    if is_clustered():
        return next(iter(_transactions_apart([(slot, position)])), None)
    row = fetch_one(_AT_PLACE, slot, position)
    return None if row is None else of_row(row)


def of_row(row: Sequence[Any]) -> SealedTransaction:
    """Of a row of OF_CANDIDATE. Raises SealedDataDamaged."""
    return _transaction(row[:-1])._replace(data=row[-1])


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
        slot,
        position,
        checked.signature,
        blockhash,
        time,
        form,
        recording,
        sealed_range,
        frame,
        text,
    )
