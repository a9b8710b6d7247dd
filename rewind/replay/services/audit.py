"""The replay audit: replays a sample of ingested transactions to verify the archive."""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from solders.pubkey import Pubkey
from solders.signature import Signature

from historical.transactions.services import recorded_transactions as ledger
from historical.transactions.services.recorded_transactions import RecordedTransaction
from historical.transactions.store.transactions import signatures_of
from rewind.positions import Position
from rewind.replay.services.replay import Verdict, replay
from rewind.replay.store import audits as store
from rewind.replay.store.audits import Count

log = logging.getLogger(__name__)

# Slots that may wait: it bounds the work, not the time. What is older is passed over, and counted.
MOST_BEHIND = 3_000
# So many divergences are open at most: more of them say nothing new, and are only counted.
MOST_OPEN = 10_000
# How long it is known which programs were replayed on a day.
_REMEMBERED = timedelta(days=90)
DISMISSED = "dismissed"
# What is kept at once: a run that is killed does no more than this again.
_KEPT_REPLAYS = 25
_KEPT_SLOTS = 256
# Some seconds of a chain: the audit hurries nowhere, and most runs of fewer find nothing.
_WORTH_A_RUN = 32
_FAILED = "internal_error"


@dataclass(slots=True)
class _Found:
    """What is not yet kept: counts, and the transactions that ended otherwise."""

    count: Count = field(default_factory=Count)
    programs: dict[bytes, Count] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    divergences: list[tuple[RecordedTransaction, Verdict]] = field(default_factory=list)
    slots: int = 0

    def add(self, recorded: RecordedTransaction, verdict: Verdict) -> None:
        one = Count(**{verdict.status: 1})
        self.count = self.count.plus(one)
        for program in programs_of(recorded):
            self.programs[program] = self.programs.get(program, Count()).plus(one)
        if verdict.status == "diverged":
            self.divergences.append((recorded, verdict))
        elif verdict.status == "unverified":
            reason = verdict.reason or _FAILED
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    @property
    def is_enough(self) -> bool:
        return sum(self.count) >= _KEPT_REPLAYS or self.slots >= _KEPT_SLOTS


def is_due() -> bool:
    """Whether enough slots wait to be worth a run."""
    return store.are_above_audited(_WORTH_A_RUN)


def audit_next(
    *,
    permille: int,
    now: Callable[[], datetime],
    seconds: float,
    most_behind: int = MOST_BEHIND,
) -> Count:
    """Goes on where it stands for so long; what it looked at. Several may run at once: what one
    keeps, another drops. A slot that comes late, below where it stands, is never looked at.
    """
    kept = Count()
    if not permille:
        return kept
    ends_at = time.monotonic() + seconds
    place = _pass_over(store.audited_to(), most_behind, now())
    if place is None:
        return kept
    found, here = _Found(), place
    for here, signature in _places(place, permille):
        if signature is None:
            found.slots += 1
        else:
            _look_at(here, found)
        is_over = time.monotonic() >= ends_at
        if found.is_enough or is_over:
            if not _keep(found, place, here, now()):
                return kept
            kept, place, found = kept.plus(found.count), here, _Found()
            if is_over:
                return kept
    if here != place and _keep(found, place, here, now()):
        kept = kept.plus(found.count)
    return kept


def is_chosen(signature: bytes, permille: int) -> bool:
    """The same transactions on every installation, so that two can compare what they found."""
    return int.from_bytes(hashlib.sha256(signature).digest()[:8]) % 1_000 < permille


def programs_of(recorded: RecordedTransaction) -> set[bytes]:
    """The programs that the transaction itself calls: never looked-up ones, by its format."""
    message = recorded.transaction.message
    keys = message.account_keys
    return {bytes(keys[each.program_id_index]) for each in message.instructions}


def replay_again(divergence_id: int, *, now: datetime) -> Verdict | None:
    """The verdict of another replay, which closes the entry or updates its differences; None
    where the ledger no longer has the transaction.
    """
    divergence = store.divergence(divergence_id)
    recorded = ledger.recorded_at(divergence.slot, divergence.position)
    if recorded is None or recorded.signature != divergence.signature:
        return None
    verdict = _verdict(recorded)
    values: dict[str, object] = {"tried_at": now, "reason": verdict.reason or ""}
    if verdict.status == "verified":
        values["resolved_at"] = now
    elif verdict.status == "diverged":
        values |= {"resolved_at": None, **_differences_of(verdict)}
    store.update_divergence(divergence_id, values)
    return verdict


def dismiss(divergence_ids: Iterable[int], *, now: datetime) -> int:
    """Closes entries that cannot be replayed any more, or are understood; returns how many."""
    return store.resolve(divergence_ids, reason=DISMISSED, now=now)


def forget_programs(*, now: datetime) -> None:
    """Deletes counts by program after 90 days; counts by day stay."""
    store.delete_program_counts_before((now - _REMEMBERED).astimezone(UTC).date())


def _pass_over(place: Position, most_behind: int, now: datetime) -> Position | None:
    """Where to begin: not further behind than may be. None when another moved it."""
    last = store.slot_with_above(place.slot, most_behind)
    if last is None:
        return place
    there = Position.end_of(last)
    with transaction.atomic():
        passed_over = store.slots_between(place.slot, last)
        if not store.advance(place, there):
            return None
        store.add_to_day(now.astimezone(UTC).date(), Count(), passed_over=passed_over)
    log.warning("the replay audit is behind: it passed over %d slots up to %d", passed_over, last)
    return there


def _places(place: Position, permille: int) -> Iterator[tuple[Position, Signature | None]]:
    """The chosen transactions behind the place, in order, and after each slot its end."""
    slot, done_to = place
    end = Position.end_of(slot).order
    if done_to != end:
        yield from _within(slot, done_to, permille)
    while slots := store.slots_above(slot, _KEPT_SLOTS):
        for slot in slots:
            yield from _within(slot, -1, permille)


def _within(slot: int, done_to: int, permille: int) -> Iterator[tuple[Position, Signature | None]]:
    for index, signature in enumerate(signatures_of(slot)):
        if index > done_to and is_chosen(signature, permille):
            yield Position(slot, index), Signature(signature)
    yield Position.end_of(slot), None


def _look_at(place: Position, found: _Found) -> None:
    recorded = ledger.recorded_at(*place)
    if recorded is not None:  # else the ledger's window moved on
        found.add(recorded, _verdict(recorded))


def _verdict(recorded: RecordedTransaction) -> Verdict:
    try:
        return replay(recorded).verdict
    except Exception:
        if not connection.is_usable():
            raise  # no fault of the transaction
        # An unforeseen error must not hold up all transactions after it.
        log.exception("the replay of %s failed", recorded.signature)
        return Verdict("unverified", reason=_FAILED)


def _keep(found: _Found, place: Position, to: Position, now: datetime) -> bool:
    """All of it and the new place, or nothing where another was quicker."""
    with transaction.atomic():
        if not store.advance(place, to):
            return False
        day = now.astimezone(UTC).date()
        if any(found.count):
            store.add_to_day(day, found.count, reasons=found.reasons)
            store.add_to_programs(day, found.programs)
        new = _open_all(found.divergences, now)
    for recorded, verdict in new:
        fields = ", ".join(_differences_of(verdict)["fields"])
        log.error(
            "transaction %s of slot %d does not replay as the chain says: %s differ",
            recorded.signature,
            recorded.slot,
            fields,
        )
    return True


def _open_all(
    divergences: list[tuple[RecordedTransaction, Verdict]], now: datetime
) -> list[tuple[RecordedTransaction, Verdict]]:
    """Those that have no entry yet get one, as far as there is room; these."""
    if not divergences:
        return []
    room = MOST_OPEN - store.open_divergences().count()
    if room < len(divergences):
        log.error(
            "too many divergences are open: %d have no entry", len(divergences) - max(room, 0)
        )
    return [each for each in divergences[: max(room, 0)] if _open(*each, now)]


def _open(recorded: RecordedTransaction, verdict: Verdict, now: datetime) -> bool:
    """Whether the entry is new: a transaction has one for ever."""
    return store.keep_divergence(
        recorded.signature,
        {"tried_at": now, "resolved_at": None, "reason": verdict.reason or ""}
        | _differences_of(verdict),
        {
            "slot": recorded.slot,
            "position": recorded.index,
            "programs": [Pubkey(each) for each in sorted(programs_of(recorded))],
            "found_at": now,
            "tried_at": now,
            "reason": verdict.reason or "",
            **_differences_of(verdict),
        },
    )


def _differences_of(verdict: Verdict) -> dict[str, Any]:
    return {
        "fields": list(dict.fromkeys(each.field for each in verdict.differences)),
        "differences": [asdict(each) for each in verdict.differences],
    }
