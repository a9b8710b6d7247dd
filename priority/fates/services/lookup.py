"""Fates of submissions for their owners, from the moment of acceptance."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, cast

import msgspec
import redis
from solders.signature import Signature

from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.errors import (
    BundleIdMalformed,
    BundleUnknown,
    FatesUnavailable,
    SignatureUnknown,
)
from priority.fates.reasons import for_others
from priority.fates.results import BundleFate, Fate, FateAttempt, FateEvent, PaidTip
from priority.fates.services import backlog
from priority.fates.store import cosubmitters
from priority.fates.store import fates as store
from priority.models import Bundle, Submission
from priority.submissions import State, pending_key, queue_milliseconds, sending
from shared_state.redis_client import client

MOST_TRANSACTIONS = 4
_BUNDLE_ID = re.compile("[0-9a-f]{64}").fullmatch
_NEVER_LANDED = (State.EXPIRED, State.REFUSED)


class Pending(NamedTuple):
    """Redis' record of an acceptance: Unix seconds, and the key, None for a caller without one."""

    received_at: float
    key_id: int | None


def fate(signature: Signature, *, key_id: int | None, kept_days: int) -> Fate:
    """The fate with every attempt. Raises SignatureUnknown, and FatesUnavailable where Redis would
    have to be asked and is away.
    """
    raw = bytes(signature)
    row = store.submission_with_attempts(raw, key_id)
    if _may_be_again(row):
        # In this order: a submission leaves Redis only after it is in the table.
        waiting = _waiting([raw], [] if row is None else [row], key_id)
        if raw in waiting:
            return _received(raw, waiting[raw], attempts=[])
        row = row or store.submission_with_attempts(raw, key_id)
    if row is not None:
        return as_fate(row, attempts=attempts_of(row))
    shared = _shared([raw], key_id, with_attempts=True).get(raw)
    if shared is None:
        raise SignatureUnknown(signature, kept_days)
    return shared


def fates(signatures: Sequence[Signature], *, key_id: int | None) -> list[Fate | None]:
    """The fates in their short form, in order; None for what the key's customer never submitted.
    Raises FatesUnavailable.
    """
    wanted = [bytes(each) for each in signatures]
    rows = store.submissions(wanted, key_id)
    waiting = _waiting(wanted, rows, key_id)
    found = {bytes(row.signature): as_fate(row) for row in rows}
    found |= {raw: _received(raw, each) for raw, each in waiting.items()}
    missing = [raw for raw in wanted if raw not in found]
    if missing:
        found |= {bytes(row.signature): as_fate(row) for row in store.submissions(missing, key_id)}
        missing = [raw for raw in missing if raw not in found]
        found |= _shared(missing, key_id)
    return [found.get(raw) for raw in wanted]


def newest_fates(
    *, key_id: int, limit: int, before: Signature | None, kept_days: int
) -> list[Fate]:
    """The newest submissions of the key's customer, newest first, from behind the signature
    `before`. Raises SignatureUnknown.
    """
    row = None
    if before is not None:
        found = store.submissions([bytes(before)], key_id)
        row = found[0].pk if found else store.row_of(key_id, bytes(before))
        if row is None:
            raise SignatureUnknown(before, kept_days)
    return [as_fate(each) for each in store.newest(key_id, limit=limit, before=row)]


def bundle_fate(name: str | Sequence[str], *, key_id: int | None, kept_days: int) -> BundleFate:
    """The fate of a bundle by its id, or by what sendBundle answered: its signatures, or one of
    them. A transaction that came alone is a bundle of one. Raises BundleIdMalformed, BundleUnknown
    and FatesUnavailable.
    """
    asked = named(name)
    row = _stored(asked, key_id)
    if _may_be_again(row):
        # In this order, as in `fate`.
        waiting = _waiting_bundle(asked, row, key_id)
        if waiting is not None:
            return waiting
        row = row or _stored(asked, key_id)
    if row is None:
        shared = _shared_bundle(asked, key_id)
        if shared is None:
            raise BundleUnknown(kept_days)
        return shared
    is_one = isinstance(row, Submission)
    bundle_id = asked.bundle_id if isinstance(row, Submission) else row.bundle_id
    return BundleFate(
        bundle_id=bundle_id,
        state=row.state,
        final=row.settled_at is not None,
        reason=row.reason or None,
        slot=row.slot,
        engine_ids={} if isinstance(row, Submission) else row.engine_ids,
        accepted_at=row.accepted_at.timestamp(),
        settled_at=_seconds(row.settled_at),
        transactions=[
            as_fate(each, bundle_id=None if is_one else bundle_id, attempts=attempts_of(each))
            for each in _transactions(row)
        ],
    )


class NamedBundle(NamedTuple):
    """A bundle's id; and where it was named by signatures, those."""

    bundle_id: str
    signatures: list[bytes]


def named(name: str | Sequence[str]) -> NamedBundle:
    """The bundle that a caller names by its id or by what sendBundle answered. Raises
    BundleIdMalformed.
    """
    if isinstance(name, str) and _BUNDLE_ID(name):
        return NamedBundle(name, [])
    texts = [name] if isinstance(name, str) else list(name)
    try:
        signatures = [bytes(Signature.from_string(text)) for text in texts]
    except ValueError:
        raise BundleIdMalformed(",".join(texts)) from None
    if not 1 <= len(signatures) <= MOST_TRANSACTIONS:
        raise BundleIdMalformed(",".join(texts))
    return NamedBundle(bundle_id_of(signatures), signatures)


def pending(signatures: Sequence[bytes], key_id: int | None) -> dict[bytes, Pending]:
    """Those accepted and perhaps not stored yet, as far as the key's customer may see them. Raises
    FatesUnavailable.
    """
    if not signatures:
        return {}
    try:
        values = cast(list[bytes | None], client().mget([pending_key(each) for each in signatures]))
        found = {
            signature: _read(value)
            for signature, value in zip(signatures, values, strict=True)
            if value is not None
        }
        forgotten = [each for each in signatures if each not in found]
        if forgotten:
            found |= {name: Pending(*each) for name, each in backlog.find(forgotten).items()}
    except redis.RedisError:
        raise FatesUnavailable from None
    if all(each.key_id in (None, key_id) for each in found.values()):
        return found
    mine = {None, *(store.keys_of_the_customer(key_id) if key_id is not None else ())}
    return {signature: each for signature, each in found.items() if each.key_id in mine}


def remembered(name: bytes) -> float | None:
    """When Redis' entry for the signature or the bundle's id was received, in Unix seconds, of any
    customer: for staff. Raises FatesUnavailable.
    """
    try:
        value = cast(bytes | None, client().get(pending_key(name)))
    except redis.RedisError:
        raise FatesUnavailable from None
    return None if value is None else _read(value).received_at


def as_fate(
    row: Submission, *, bundle_id: str | None = None, attempts: list[FateAttempt] | None = None
) -> Fate:
    """A row as its owner reads it; the short form without attempts."""
    if bundle_id is None and row.bundle is not None:
        bundle_id = row.bundle.bundle_id
    after = None
    if row.slot is not None and row.accepted_slot is not None:
        after = row.slot - row.accepted_slot
    tip = None
    if row.tip_address is not None and row.tip_lamports is not None:
        tip = PaidTip(
            address=str(row.tip_address),
            lamports=row.tip_lamports,
            instruction_index=row.tip_instruction_index,
        )
    return Fate(
        signature=str(row.signature),
        state=row.state,
        final=row.settled_at is not None,
        commitment=row.commitment or None,
        slot=row.slot,
        transaction_index=row.transaction_index,
        slots_after_acceptance=after,
        err=row.err,
        reason=row.reason or None,
        accepted_at=row.accepted_at.timestamp(),
        accepted_slot=row.accepted_slot,
        sent_at=_seconds(row.sent_at),
        queue_milliseconds=queue_milliseconds(row.accepted_at, row.sent_at),
        seen_at=_seconds(row.seen_at),
        settled_at=_seconds(row.settled_at),
        last_valid_block_height=row.last_valid_block_height,
        durable_nonce=row.is_nonced,
        nonce_account=None if row.nonce is None else str(row.nonce),
        sending=sending(row.state, row.stopped, settled=row.settled_at is not None),
        sending_stopped=row.stopped or None,
        will_fail=row.will_fail or None,
        tip=tip,
        bundle_id=bundle_id,
        edge=row.edge or None,
        tier=row.tier or None,
        only_upstreams=row.only,
        max_retries=row.max_retries,
        tries=row.tries,
        attempts=msgspec.UNSET if attempts is None else attempts,
    )


def attempts_of(row: Submission) -> list[FateAttempt]:
    """The attempts, in the order in which they were stored."""
    return [
        FateAttempt(
            upstream=each.upstream,
            target=each.target,
            number=each.number,
            started_at=each.started_at.timestamp(),
            latency_microseconds=each.latency_us,
            outcome=each.outcome,
            answer=each.answer,
        )
        for each in row.attempts_read
    ]


def standing(fate: Fate) -> FateEvent:
    """A submission's current fate as an event of the stream."""
    return FateEvent(
        signature=fate.signature,
        state=fate.state,
        final=fate.final,
        commitment=fate.commitment,
        slot=fate.slot,
        transaction_index=fate.transaction_index,
        err=fate.err,
        reason=fate.reason,
        bundle_id=fate.bundle_id,
        queue_milliseconds=fate.queue_milliseconds,
        sending=fate.sending,
        sending_stopped=fate.sending_stopped,
        at=fate.settled_at or fate.seen_at or fate.sent_at or fate.accepted_at,
    )


def _waiting(
    wanted: Sequence[bytes], rows: Iterable[Submission], key_id: int | None
) -> dict[bytes, Pending]:
    """Of the wanted, what was accepted and is in no row yet: it has none, or one of an earlier
    acceptance that came to nothing.
    """
    accepted = {bytes(row.signature): row for row in rows}
    unsure = [raw for raw in wanted if _may_be_again(accepted.get(raw))]
    return {
        raw: each
        for raw, each in pending(unsure, key_id).items()
        # Redis' text and the column both round: a millisecond is no new acceptance.
        if raw not in accepted or each.received_at > accepted[raw].accepted_at.timestamp() + 0.001
    }


def _may_be_again(row: Bundle | Submission | None) -> bool:
    """Whether it may have been accepted since the row was settled: on a durable nonce that changes
    nothing, for its nonce has moved.
    """
    return row is None or (
        row.state in _NEVER_LANDED and all(each.nonce is None for each in _transactions(row))
    )


def _stored(asked: NamedBundle, key_id: int | None) -> Bundle | Submission | None:
    """The bundle, or the transaction that came alone."""
    found = store.bundle_with_attempts(asked.bundle_id, key_id)
    if found is not None or len(asked.signatures) != 1:
        return found
    (signature,) = asked.signatures
    alone = store.submission_with_attempts(signature, key_id)
    if alone is None or alone.bundle is None:
        return alone
    return store.bundle_with_attempts(alone.bundle.bundle_id, key_id)


def _transactions(row: Bundle | Submission) -> list[Submission]:
    return [row] if isinstance(row, Submission) else row.rows_read


def _waiting_bundle(
    asked: NamedBundle, row: Bundle | Submission | None, key_id: int | None
) -> BundleFate | None:
    rows = [] if row is None else _transactions(row)
    signatures = asked.signatures or [bytes(each.signature) for each in rows]
    waiting = _waiting(signatures, rows, key_id) if signatures else {}
    if not rows and (not signatures or len(waiting) < len(signatures)):
        # Redis knows the bundle's id, too: another customer may have its transactions pending.
        name = bytes.fromhex(asked.bundle_id)
        if own := pending([name], key_id):
            waiting = {raw: waiting.get(raw, own[name]) for raw in signatures} or own
    if not waiting or len(waiting) < len(signatures):
        return None
    return BundleFate(
        bundle_id=row.bundle_id if isinstance(row, Bundle) else asked.bundle_id,
        state=State.RECEIVED,
        final=False,
        engine_ids={},
        accepted_at=min(each.received_at for each in waiting.values()),
        transactions=[_received(raw, waiting[raw], attempts=[]) for raw in signatures],
    )


def _shared(
    signatures: Sequence[bytes], key_id: int | None, *, with_attempts: bool = False
) -> dict[bytes, Fate]:
    """Those that the key's customer submitted after another one: public chain data and what was
    done for this customer, nothing about how the other one had it sent.
    """
    since = cosubmitters.since(signatures, key_id) if key_id is not None and signatures else {}
    found = {
        raw: _received(
            raw,
            Pending(accepted_at.timestamp(), key_id),
            attempts=[] if with_attempts else None,
        )
        for raw, accepted_at in since.items()
    }
    for customer in store.customers_of([key_id]).values() if key_id and since else ():
        for row in cosubmitters.submissions(list(since), customer):
            attempts = attempts_of(row) if with_attempts else None
            found[bytes(row.signature)] = as_fate(row, attempts=attempts)
    return found


def _shared_bundle(asked: NamedBundle, key_id: int | None) -> BundleFate | None:
    name = bytes.fromhex(asked.bundle_id)
    since = {} if key_id is None else cosubmitters.since([name], key_id)
    if name not in since:
        return None
    row = cosubmitters.bundle(asked.bundle_id)
    signatures = asked.signatures or cosubmitters.signatures_of(asked.bundle_id)
    fates = _shared(signatures, key_id, with_attempts=True)
    reason = ""
    if row is not None:
        reason = for_others(row.reason, refused=row.state == State.REFUSED)
    return BundleFate(
        bundle_id=asked.bundle_id,
        state=State.RECEIVED if row is None else row.state,
        final=row is not None and row.settled_at is not None,
        reason=reason or None,
        slot=None if row is None else row.slot,
        engine_ids={},
        accepted_at=since[name].timestamp(),
        settled_at=None if row is None else _seconds(row.settled_at),
        transactions=[fates[raw] for raw in signatures if raw in fates],
    )


def _received(raw: bytes, waiting: Pending, *, attempts: list[FateAttempt] | None = None) -> Fate:
    return Fate(
        signature=str(Signature.from_bytes(raw)),
        state=State.RECEIVED,
        final=False,
        sending="active",
        accepted_at=waiting.received_at,
        attempts=msgspec.UNSET if attempts is None else attempts,
    )


def _read(value: bytes) -> Pending:
    received_at, _, key_id = value.decode().partition("|")
    return Pending(float(received_at), int(key_id) if key_id else None)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
