"""Fills gaps: the newest first, from one source after the other."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from django.db import transaction

from chain.signed import Signatures
from chain.slot_ranges import SlotRange
from chain.units import Slot
from gaps import life_cycle
from gaps.life_cycle import due_gaps, has_due_gap
from gaps.slot_gap import SlotGap
from historical.errors import BadBlock as BadLedgerBlock
from historical.errors import BlockConflict
from historical.models import Gap as LedgerGap
from ingest import chain_identity
from ingest.errors import WrongChain
from ingest.services import classification
from ingest.services.slots import store_records
from ingest.services.stream_replay import replay
from ingest.sources import nodes, signatures_of_history, streams
from rewind.errors import BadSlot
from rewind.models import Gap as ArchiveGap
from upstream.node import Node, NodeError, NodeUnreachable, SlotNotAvailable

G = TypeVar("G", bound=SlotGap)
Clock = Callable[[], datetime]

_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(hours=1)
# No other worker takes the gap during an attempt; that of a killed worker is repeated after this.
_CLAIM = timedelta(seconds=150)
_MOST_GAPS = 10
# Each area's share of a run, without its last attempt: both end before the task's time limit.
_SECONDS = 45.0
# Slots that no source has any more are given up at the third attempt, half a minute after the
# first: behind one address there may be several servers, and some have fewer slots.
_TRIES_BEFORE_END = 3
# Blocks of one gap that one attempt requests from a node.
_MOST_BLOCKS = 200
_REFUSALS = (BlockConflict, BadLedgerBlock, BadSlot)


def fill_due_gaps(*, now: Clock) -> None:
    """One attempt for each due gap of both areas: filled and proved skipped slots close, the others
    are attempted again after a pause that doubles.
    """
    until = time.monotonic() + _SECONDS
    for _ in range(_MOST_GAPS):
        gap = _claim(ArchiveGap, now())
        if gap is None:
            break
        _try_archive(gap, now)
        if time.monotonic() > until:
            break
    until += _SECONDS
    for _ in range(_MOST_GAPS):
        ledger_gap = _claim(LedgerGap, now())
        if ledger_gap is None:
            break
        _try_ledger(ledger_gap, now)
        if time.monotonic() > until:
            break


def is_due(*, now: datetime) -> bool:
    """Whether a gap of either area is due."""
    return has_due_gap((ArchiveGap, LedgerGap), now=now)


@transaction.atomic
def _claim(model: type[G], now: datetime) -> G | None:
    """A due gap that no other worker has claimed."""
    gap = due_gaps(model, now=now).select_for_update(skip_locked=True).first()
    if gap is not None:
        gap.next_try_at = now + _CLAIM
        gap.save(update_fields=["next_try_at"])
    return gap


def _try_archive(gap: ArchiveGap, now: Clock) -> None:
    window = SlotRange(gap.from_slot, gap.to_slot)
    results = [_prove_skipped(window, now)]
    source, gone_below = "stream", 0
    if life_cycle.open_gaps(ArchiveGap, window):
        found = replay(window, now=now)
        source, gone_below = found.source, found.gone_below
        results += found.results
    _note(ArchiveGap, gap, source, results, gone_below, now)


def _try_ledger(gap: LedgerGap, now: Clock) -> None:
    window = SlotRange(gap.from_slot, gap.to_slot)
    results = [_prove_skipped(window, now)]
    gone_below = []
    if life_cycle.open_gaps(LedgerGap, window) and streams():
        found = replay(window, now=now)
        gone_below.append(found.gone_below)
        results += found.results
    source = "stream"
    # What one node hands on otherwise than it was signed, another one may have as it was.
    attempts = [(Signatures.REFUSE, node) for node in nodes()]
    if signatures_of_history() is Signatures.KEEP:
        attempts += [(Signatures.KEEP, node) for node in nodes()]
    for signatures, node in attempts:
        if not life_cycle.open_gaps(LedgerGap, window):
            break
        source = node.name
        result, oldest = _fetch(node, window, signatures, now)
        results.append(result)
        gone_below.append(oldest)
    _note(LedgerGap, gap, source, results, min(gone_below, default=0), now)


def _prove_skipped(window: SlotRange, now: Clock) -> str:
    """Closes what blocks and nodes prove skipped. Returns why no node could be asked, else ""."""
    classification.by_ledger_links(window, now=now())
    for node in nodes():
        try:
            chain_identity.require_same(node)
            classification.by_node(node, window, now=now())
        except WrongChain:
            continue  # reported where its blocks are requested
        except NodeError as error:
            return f"{node.name} cannot list its blocks: {error}"
        else:
            return ""
    return ""


def _fetch(node: Node, window: SlotRange, signatures: Signatures, now: Clock) -> tuple[str, int]:
    """Stores missing blocks of the window from the node, newest first. Returns a summary, and the
    lowest slot whose block the node still has; 0 if that is unknown.
    """
    try:
        chain_identity.require_same(node)
        oldest = int(node.first_available_block())
    except WrongChain as error:
        return str(error), 0
    except NodeError as error:
        return f"{node.name}: {error}", 0
    if oldest > window.last:
        return f"{node.name} has blocks from {oldest} on alone", oldest
    missing = (
        slot
        for gap in reversed(life_cycle.open_gaps(LedgerGap, window))
        for slot in range(min(gap.to_slot, window.last), max(gap.from_slot, window.first) - 1, -1)
    )
    wanted = list(islice(missing, _MOST_BLOCKS))
    filled, problem = 0, ""
    for slot in wanted:
        try:
            record = node.block(Slot(slot))
            store_records([record], source=node.name, now=now(), signatures=signatures)
            filled += 1
        except SlotNotAvailable as error:
            problem = str(error)
        except NodeUnreachable as error:
            problem = str(error)
            break
        except (NodeError, *_REFUSALS) as error:
            problem = f"slot {slot}: {error}"
    summary = f"{node.name}: {filled} of {len(wanted)} slots came"
    return (f"{summary}; {problem}" if problem else summary), oldest


def _note(
    model: type[G], gap: G, source: str, results: list[str], gone_below: int, now: Clock
) -> None:
    """Records the attempt in the history of what is left of the gap, and gives up slots below
    `gone_below`, which every source says it does not have any more.
    """
    result = "; ".join(filter(None, results))
    pause = min(_FIRST_PAUSE * 2 ** min(gap.tries, 12), _LONGEST_PAUSE)
    for left in life_cycle.open_gaps(model, SlotRange(gap.from_slot, gap.to_slot)):
        if left.opened_at == gap.opened_at:
            life_cycle.record_attempt(
                model,
                left.pk,
                source=source,
                result=result[:500],
                now=now(),
                next_try_at=now() + pause,
            )
    gone = SlotRange(gap.from_slot, min(gap.to_slot, gone_below - 1))
    if gone.size > 0 and gap.tries + 1 >= _TRIES_BEFORE_END:
        life_cycle.give_up(model, gone, by=life_cycle.PROOF, why=result[:500], now=now())
