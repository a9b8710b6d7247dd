"""Which changes stand in one block."""

from collections.abc import Iterable, Iterator

from rewind.sealed.packing.batches import Batch, Piece, piece
from rewind.sealed.packing.changes import Change
from rewind.sealed.packing.content import MAX_CHANGES, MAX_RUNS

# Changes and bytes of data that are compared at once.
_BATCH, _BATCH_BYTES = 2_048, 2 << 20
# A block's content ends at about so many bytes.
_MOST_BYTES = 16 << 20
# What an account's whole state takes, compressed, about: alone, and each byte of its data.
_ACCOUNT_COST, _DATA_COST = 40.0, 0.25
# Changes of an account go on in a block until they take so many times what another block's whole
# state would, or, of a large account, the state and so many blocks.
_REPEATED, _BLOCKS = 4.0, 2.0
# How fast what came out corrects what is expected.
_LEARNING = 0.15


class Cutter:
    """Decides where a block ends, and corrects its expectation by what blocks took."""

    def __init__(self, target: int, *, crosses_buckets: bool = False) -> None:
        self._target = target
        self._crosses_buckets = crosses_buckets
        self._ratio = 1.0  # bytes that blocks took, to what was expected
        self._ended = 0.0  # the expectation of the block that ended last
        self._clear()

    def _clear(self) -> None:
        self._count = self._bytes = self._runs = 0
        self._cost = self._worth = self._since_whole = 0.0
        self._bucket = b""

    def took(self, size: int) -> None:
        """The bytes that the block took which ended last, compressed."""
        if self._ended:
            ratio = min(4.0, max(0.05, size / self._ended))
            self._ratio += _LEARNING * (ratio - self._ratio)

    def end(self) -> None:
        self._ended = self._cost
        self._clear()

    def ends_before(self, change: Change, is_account: bool, size: int, runs: int) -> bool:
        """Whether the open block ends before this change, which takes so many bytes there."""
        if not self._count:
            return False
        if is_account:
            size = len(change.data)
            if change.pubkey[:1] != self._bucket and not self._crosses_buckets:
                return True
        if (
            self._count >= MAX_CHANGES
            or self._bytes + size > _MOST_BYTES
            or self._runs + runs > MAX_RUNS
        ):
            return True
        if self._cost * self._ratio < self._target:
            return False
        return is_account or self._since_whole >= self._worth

    def add(self, change: Change, is_account: bool, cost: float, size: int, runs: int) -> None:
        """The open block has this change."""
        if is_account or not self._count:
            size = len(change.data)
            cost = _ACCOUNT_COST + _DATA_COST * size
            self._worth = min(_REPEATED * cost, cost + _BLOCKS * self._target)
            self._since_whole = 0.0
            self._bucket = change.pubkey[:1]
        else:
            self._since_whole += cost
            self._runs += runs
        self._cost += cost
        self._bytes += size
        self._count += 1


def blocks_of(changes: Iterable[Change], cutter: Cutter) -> Iterator[list[Piece]]:
    """The pieces of each block."""
    pieces: list[Piece] = []
    before: Change | None = None
    for rows in _parts(changes):
        batch, begin = Batch(rows, before), 0
        columns = (batch.is_account.tolist(), batch.costs, batch.bytes, batch.run_counts.tolist())
        for number, (change, is_account, cost, size, runs) in enumerate(
            zip(rows, *columns, strict=True)
        ):
            if cutter.ends_before(change, is_account, size, runs):
                if begin < number:
                    pieces.append(piece(batch, rows, begin, number, opens=not pieces))
                cutter.end()
                yield pieces
                pieces, begin = [], number
            cutter.add(change, is_account, cost, size, runs)
        pieces.append(piece(batch, rows, begin, len(rows), opens=not pieces))
        before = rows[-1]
    if pieces:
        cutter.end()
        yield pieces


def _parts(changes: Iterable[Change]) -> Iterator[list[Change]]:
    rows: list[Change] = []
    held = 0
    for change in changes:
        rows.append(change)
        held += len(change.data)
        if held >= _BATCH_BYTES or len(rows) >= _BATCH:
            yield rows
            rows, held = [], 0
    if rows:
        yield rows
