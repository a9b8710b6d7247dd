"""The live strip of the front page: slots as they are stored, what landed, what the archive has."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from columns.kept import Kept
from historical.blocks.store import blocks
from historical.coverage.store import checking
from historical.coverage.store.checking import Header
from ingest.follower_state import StreamState, published
from operations.readings.landing import WINDOW, read_settled
from rewind.coverage.store import coverage
from shared_state import clock
from shared_state.outages import AWAY
from staff.formatting import counted

SLOTS = 60
_KEPT_SECONDS = 1.0
# It sums a row for each thousand slots, and hardly changes.
_COVERAGE_KEPT_SECONDS = 10.0
_MINUTES = int(WINDOW.total_seconds()) // 60
# Of a bar, in the picture's units: a block without transactions is still a block.
_LOWEST, _HIGHEST, _WIDTH = 6, 56, 10


@dataclass(frozen=True, slots=True)
class Bar:
    """A slot in the picture: a `block` with its transactions, `skipped`, or not `stored`."""

    slot: int
    kind: str
    transactions: int
    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with what it is and what there is to know about it."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Strip:
    """`hue` is a word of site.css. `about` says in words what the picture shows."""

    word: str
    hue: str
    text: str
    about: str
    bars: Sequence[Bar]
    figures: Sequence[Figure]
    width: int = SLOTS * _WIDTH
    height: int = _HIGHEST


def strip() -> Strip:
    """The strip as it was within the last second."""
    return _kept.value()


def _read(_before: Strip | None) -> Strip:
    try:
        return _strip(_kept_archive.value())
    except AWAY:
        return Strip("unknown", "bad", "The database or Redis does not respond.", "", (), ())


def _strip(archive: Figure) -> Strip:
    bounds = blocks.bounds()
    found = [] if bounds is None else checking.headers_between(bounds[1] - SLOTS + 1, bounds[1])
    bars = _bars(found)
    word, hue, text, head = _stream()
    newest = head or (bounds[1] if bounds else 0)
    stored = f"the ledger has slot {bounds[1]:,}" if bounds else "the ledger is empty"
    figures = (
        Figure("Newest slot", f"{newest:,}" if newest else "none", stored),
        _landed(),
        archive,
    )
    return Strip(word, hue, text, _about(bars), bars, figures)


def _stream() -> tuple[str, str, str, int]:
    """Whether slots come in, as a word, its hue and a sentence; and the newest processed slot."""
    state = published()
    if state is None:
        return "idle", "quiet", "No chain is followed: it shows what is stored.", 0
    now = clock.seconds()
    match state.stream(now):
        case StreamState.FOLLOWING:
            return "live", "good", "Slots as they become final.", state.head_slot
        case StreamState.SILENT:
            silent = state.silent_seconds(now) or 0
            return "silent", "warning", f"No slot for {silent} s.", state.head_slot
        case _:
            return "not connected", "bad", "The chain's stream is not connected.", 0


def _bars(headers: Sequence[Header]) -> list[Bar]:
    """A bar for each of the last slots; the height is the square root of the transactions."""
    if not headers:
        return []
    kinds: dict[int, str] = {}
    for before, header in zip([None, *headers], headers, strict=False):
        # A parent link proves that the slots between had no block.
        proved = before is not None and header.parent_slot == before.slot
        above = header.parent_slot if before is None else before.slot
        for slot in range(above + 1, header.slot):
            kinds[slot] = "skipped" if proved or before is None else "missing"
        kinds[header.slot] = "block"
    counts = {each.slot: each.transaction_count for each in headers}
    most = max(1, *counts.values())
    last = headers[-1].slot
    bars = []
    for place, slot in enumerate(range(last - SLOTS + 1, last + 1)):
        kind, count = kinds.get(slot, ""), counts.get(slot, 0)
        if kind:
            height = _LOWEST + round((_HIGHEST - _LOWEST) * (count / most) ** 0.5)
            height = height if kind == "block" else _LOWEST
            bars.append(Bar(slot, kind, count, place * _WIDTH, _HIGHEST - height, height))
    return bars


def _about(bars: Sequence[Bar]) -> str:
    if not bars:
        return "No slot is stored yet."
    made = [each for each in bars if each.kind == "block"]
    skipped, missing = (sum(each.kind == kind for each in bars) for kind in ("skipped", "missing"))
    transactions = sum(each.transactions for each in made)
    blocks = f"{counted(len(made), 'block')} with {counted(transactions, 'transaction')}"
    parts = [blocks, f"{skipped} skipped"]
    parts += [f"{missing} missing"] if missing else []
    return f"Slots {bars[0].slot:,} to {bars[-1].slot:,}: {', '.join(parts)}."


def _landed() -> Figure:
    name = f"Landed in the last {_MINUTES} min"
    settled, landed = read_settled(timezone.now())
    if not settled:
        return Figure(name, "none", "nothing settled in this time")
    share = 100 * landed / settled
    return Figure(name, f"{share:.3g} %", "of what settled in this time")


def _archive(_before: Figure | None) -> Figure:
    found = coverage.summary(0, 2**62)
    if found is None:
        return Figure("Archive", "empty", "nothing is archived yet")
    counted = found.archived + found.missing
    share = 100 * found.archived / counted if counted else 100.0
    # 100 % is said of a whole archive alone.
    value = "100 %" if not found.missing else f"{min(share, 99.99):.2f} %"
    missing = f", {found.missing:,} missing" if found.missing else ""
    return Figure("Archive", value, f"of slots {found.first:,} to {found.last:,}{missing}")


_kept = Kept(_KEPT_SECONDS, _read)
_kept_archive = Kept(_COVERAGE_KEPT_SECONDS, _archive)
