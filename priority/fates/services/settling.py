"""Final fates: submissions found in finalized blocks, and those that can never land."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec
from django.db import transaction

from priority.fates.reasons import for_others
from priority.fates.services.announcing import FateChange, announce
from priority.fates.services.notices import once_each, publish_settled, publish_stopped, shared
from priority.fates.store import bundles
from priority.fates.store import settling as store
from priority.fates.store.fates import keys_of_the_customer
from priority.fates.store.settling import FoundRow, SettledRow
from priority.models import Bundle, Submission
from priority.submissions import State, queue_milliseconds
from shared_state import counters
from tipping.services import sweeping


@transaction.atomic
def settle_found(found: Sequence[FoundRow], *, now: datetime) -> list[SettledRow]:
    """Marks submissions that are in finalized blocks as landed or failed, and settles their sweeps
    and bundles. Returns the changed ones; a second call changes nothing. One that had expired,
    as a nonce may, is corrected.
    """
    return _settled(store.settle_found(found, now=now), now)


@transaction.atomic
def settle_lost(
    reasons: Mapping[int, str], *, over_before: Collection[int] = (), now: datetime
) -> list[SettledRow]:
    """Marks submissions (by primary key) that can never land as expired for the reason, or as
    refused if no upstream ever took them. Those in `over_before` could not land any more when they
    were accepted.
    """
    return _settled(store.settle_lost(dict(reasons), over_before, now=now), now)


@transaction.atomic
def publish_late(submitters: Mapping[bytes, int], *, now: datetime) -> None:
    """Publishes and announces to keys, by signature, the final fates of what other keys had
    submitted before: settling knew nothing of them yet. Call it after they are noted as submitters,
    and committed unless the rows are locked.
    """
    changes = [_change(row, now) for row in store.settled_among(list(submitters))]
    late = [
        each for each in shared(changes) if each.change.key_id == submitters[each.change.signature]
    ]
    publish_settled(each.change for each in late)
    transaction.on_commit(partial(announce, once_each(late)))


@transaction.atomic
def end_watches(*, accepted_before: datetime, most: int, now: datetime) -> int:
    """Ends the watch of nonces for submissions of before then, of some; how many. Their fates stay
    open, and say so.
    """
    rows = store.end_watches(accepted_before=accepted_before, most=most)
    ended = [_change(row, now)._replace(settled=False, stopped=row.reason) for row in rows]
    published = [*ended, *once_each(shared(ended))]
    publish_stopped(published)
    transaction.on_commit(partial(announce, published))
    return len(rows)


@transaction.atomic
def settle_bundles(*, now: datetime) -> None:
    """Settles the bundles whose transactions are all settled."""
    _settle_bundles(store.unsettled_bundles(), now)


def fate_of_bundle(submissions: Iterable[Submission]) -> tuple[State, int | None, str]:
    """State, slot and reason of a bundle whose transactions are settled; at least one."""
    rows = list(submissions)
    count = Counter(row.state for row in rows)
    slot = max((row.slot for row in rows if row.slot is not None), default=None)
    landed, failed = count[State.LANDED], count[State.FAILED]
    if landed == len(rows):
        return State.LANDED, slot, ""
    if landed or failed:
        reason = f"landed_in_part: {landed} of {len(rows)} landed, {failed} failed"
        return State.FAILED, slot, reason
    state = State.EXPIRED if count[State.EXPIRED] else State.REFUSED
    reason = next((row.reason for row in rows if row.state == state and row.reason), "")
    return state, None, reason


def _settled(rows: list[SettledRow], now: datetime) -> list[SettledRow]:
    if not rows:
        return rows
    for row in rows:
        if row.kind == Submission.Kind.SWEEP:
            sweeping.settle(
                row.signature, state=row.state, slot=row.slot, reason=row.reason, now=now
            )
    in_bundles = {row.bundle_pk for row in rows if row.bundle_pk is not None}
    in_bundles.update(bundles.with_transactions([row.signature for row in rows]))
    _settle_bundles(in_bundles, now)
    changes = [_change(row, now) for row in rows]
    others = shared(changes)
    # A rule may be on one key; a stream is of all keys of its customer.
    publish_settled([*changes, *(each.change for each in others)])
    transaction.on_commit(partial(announce, [*changes, *once_each(others)]))
    states: Counter[counters.CounterName] = Counter(
        (counters.SUBMISSIONS, row.state) for row in rows
    )
    transaction.on_commit(partial(counters.add, states))
    return rows


def _settle_bundles(pks: Iterable[int], now: datetime) -> None:
    chosen = list(pks)
    if not chosen:
        return
    for bundle in store.locked_bundles(chosen):
        rows = bundles.rows_of(bundle)
        if any(row.settled_at is None for row in rows):
            continue
        _settle_bundle(bundle, rows, now)


def _settle_bundle(bundle: Bundle, rows: list[Submission], now: datetime) -> None:
    if rows:
        # What an upstream answered to another customer is for that one alone.
        others = {row.key_id for row in rows} - {bundle.key_id}
        if others and bundle.key_id is not None:
            others -= {*keys_of_the_customer(bundle.key_id)}
        for row in rows:
            if row.key_id in others:
                row.reason = for_others(row.reason, refused=row.state == State.REFUSED)
        state, slot, reason = fate_of_bundle(rows)
    else:
        # From an older version, which did not keep what another bundle has.
        state, slot, reason = State.REFUSED, None, "submitted_before: all its transactions were"
    if bundle.settled_at is not None and bundle.state == state:
        return
    bundle.state, bundle.slot, bundle.settled_at = state, slot, now
    # An engine's reason is more useful than the expiry.
    if state in (State.LANDED, State.FAILED) or not bundle.reason:
        bundle.reason = reason[:200]
    bundle.save(update_fields=["state", "slot", "settled_at", "reason"])


def _change(row: SettledRow, now: datetime) -> FateChange:
    return FateChange(
        key_id=row.key_id,
        signature=row.signature,
        state=State(row.state),
        commitment=row.commitment,
        slot=row.slot,
        transaction_index=row.transaction_index,
        err=None if row.err is None else msgspec.json.decode(row.err),
        reason=row.reason,
        settled=True,
        at=now,
        bundle_id=row.bundle_id,
        queue_ms=queue_milliseconds(row.accepted_at, row.sent_at),
    )
