"""Acceptance: a decoded transaction or bundle with a sufficient tip is queued once.

The response waits for nothing else: not for the database, not for an upstream.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import redis
from django.conf import settings
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.nonces import nonce_use, stands_on_nonce
from chain.transactions import decode_wire
from eventloop.faces import complete, in_thread
from gateway.transactions import Signed
from priority.acceptance.errors import (
    BlockhashExpired,
    BundleDuplicates,
    BundleNonceTwice,
    LandingBehind,
    NonceUnusable,
    QueueFull,
    QueueUnavailable,
    not_queued,
)
from priority.acceptance.services.foreseen import advice
from priority.acceptance.services.nonces import require_usable
from priority.acceptance.services.tips import Candidates, TipRules, candidates, first_good
from priority.acceptance.services.working import begin, end
from priority.acceptance.store.accepting import Offered, PackedTip, Verdict, is_known, offer
from priority.fates.services.settling import publish_late
from priority.fates.store import cosubmitters
from priority.models import Submission
from priority.queue.store import Limits
from priority.submissions import (
    Accepted,
    Tip,
    pack_around_tip,
    pack_tip,
    pending_key,
    pending_names,
)
from shared_state import script_socket
from shared_state.outages import AWAY
from tipping.addresses import live_key

# Longer than a blockhash lives, with what it takes to settle.
_PENDING_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """Who submitted it, and through which edge. `received_at` is in Unix seconds."""

    received_at: float
    key_id: int | None
    tier: str
    edge: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """The sender's options: send `only` by these upstreams (empty: by all of the tier)."""

    only: Sequence[str] = ()
    max_retries: int | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The conditions of acceptance: the tip rules, the most entries in the queue, and how late the
    queue may be.
    """

    tips: TipRules
    most_waiting: int
    nonce_seconds: int
    limits: Limits


# Where Redis is slow, it is not known what waits.
_SLOW_RETRY_SECONDS = 2
_SIGNATURE_BYTES = 64


class Receipt(NamedTuple):
    """`name` is the signature, or the bundle's id; `queue_ms` is the age of the oldest unsent
    submission in milliseconds; `advice` is why it will fail, empty unless that is known.
    """

    name: str
    queue_ms: int
    advice: str


async def accept_transaction(
    signed: Signed, origin: Origin, *, wishes: Wishes, bounds: Bounds, at: str
) -> Receipt:
    """Queues the transaction unless it is queued already. Raises TipRefused, BlockhashExpired,
    NonceUnusable, LandingBehind, NotAccepted.
    """
    queue_ms = await _accept([signed], origin, wishes, bounds, "", [at])
    return Receipt(signature_of(signed), queue_ms, await advice([signed.wire]))


def accept_bundle(
    signed: Sequence[Signed],
    origin: Origin,
    *,
    bounds: Bounds,
    at: Sequence[str],
    precheck: Callable[[], None] | None,
) -> Receipt:
    """Queues the bundle unless it is queued already. Its transactions may be pending by themselves
    or in other bundles. `precheck` runs first and may raise. Raises BundleDuplicates,
    BundleNonceTwice, and what accept_transaction raises.
    """
    signatures = [each.wire.signatures[0] for each in signed]
    _require_different(signed, at)
    bundle_id = bundle_id_of(signatures)
    # A bundle that has landed meanwhile would fail the check; one without a tip is refused anyway.
    if precheck is not None and _may_tip(signed, bounds) and not _is_pending(bundle_id):
        precheck()
    queue_ms = complete(_accept(signed, origin, Wishes(), bounds, bundle_id, at))
    return Receipt(bundle_id, queue_ms, complete(advice([each.wire for each in signed])))


def signature_of(signed: Signed) -> str:
    return str(Signature(signed.wire.signatures[0]))


def bundle_id_of(signatures: Sequence[bytes]) -> str:
    """Lower-case hex SHA-256 of the signatures in base58, joined by commas."""
    return sha256(",".join(str(Signature(each)) for each in signatures).encode()).hexdigest()


def _may_tip(signed: Sequence[Signed], bounds: Bounds) -> bool:
    found = candidates([each.wire for each in signed], bounds.tips)
    return bool(found.fetched) or found.sure is not None


def _is_pending(bundle_id: str) -> bool:
    return _is_pending_by(bytes.fromhex(bundle_id))


def _is_pending_by(name: bytes) -> bool:
    try:
        return is_known(pending_key(name))
    except redis.RedisError as error:
        raise not_queued(error) from None


def _require_different(signed: Sequence[Signed], at: Sequence[str]) -> None:
    """Raises BundleDuplicates if a signature occurs twice, and BundleNonceTwice if a nonce account
    does: after it has advanced, no hash lets it do so again in the same block (runtime/src/bank/
    check_transactions.rs of Agave).
    """
    signatures, nonces = set[bytes](), set[bytes]()
    for each, where in zip(signed, at, strict=True):
        signature, use = each.wire.signatures[0], nonce_use(each.wire)
        if signature in signatures:
            raise BundleDuplicates(where, str(Signature(signature)))
        if use is not None and use.account in nonces:
            raise BundleNonceTwice(where, str(Pubkey(use.account)))
        signatures.add(signature)
        if use is not None:
            nonces.add(use.account)


def submit_own(wire: bytes, *, kind: str, now: datetime) -> None:
    """Queues a transaction of our own, without a tip, unless it is pending. Raises NotAccepted."""
    read = decode_wire(wire)
    origin = Origin(now.timestamp(), None, "", settings.EDGE_NAME, "")
    queued = _offered([Signed(wire, read)], origin, Wishes(), kind, "", _PENDING_SECONDS)
    queued = queued._replace(sure_tip=PackedTip(pack_tip(None), 0))
    # Never refused: it waits in the queue.
    received, limits = int(origin.received_at), Limits(slots=0)
    complete(_offer(queued, now=received, most=2**53, limits=limits))


async def _accept(
    signed: Sequence[Signed],
    origin: Origin,
    wishes: Wishes,
    bounds: Bounds,
    bundle_id: str,
    at: Sequence[str],
) -> int:
    """The age of the queue, in milliseconds."""
    wires = [each.wire for each in signed]
    kind = Submission.Kind.BUNDLE if bundle_id else Submission.Kind.TRANSACTION
    looked_at = [place for place, wire in enumerate(wires) if not stands_on_nonce(wire)]
    seconds = _PENDING_SECONDS
    if len(looked_at) < len(wires):
        await in_thread(_require_usable_nonces, signed, bundle_id, at)
        seconds = bounds.nonce_seconds
    blockhashes = [wires[place].recent_blockhash for place in looked_at]
    offered = _offered(signed, origin, wishes, kind.value, bundle_id, seconds, blockhashes)
    found = candidates(wires, bounds.tips)
    now, most, limits = int(origin.received_at), bounds.most_waiting, bounds.limits
    verdict, numbers = await _offer(_with_tips(offered, found), now=now, most=most, limits=limits)
    if verdict is Verdict.NO_TIP:
        look_up = partial(first_good, wires, found, bounds.tips, now=now, at=at.__getitem__)
        with_tip = _with_tips(offered, Candidates([], await in_thread(look_up)))
        verdict, numbers = await _offer(with_tip, now=now, most=most, limits=limits)
    names = pending_names(bundle_id, [each.signatures[0] for each in wires])
    if verdict is Verdict.QUEUED and numbers[1:]:
        await in_thread(_note_cosubmitter, [names[place] for place in numbers[1:]], origin)
    if verdict is Verdict.KNOWN and numbers[1]:
        await in_thread(_note_cosubmitter, names, origin)
    if verdict is Verdict.DEAD_BLOCKHASH:
        place, last_valid, height = numbers
        raise BlockhashExpired(at[looked_at[place]], last_valid, height)
    if verdict is Verdict.BEHIND:
        queue_ms, unsent, seconds, limit_ms = numbers
        raise LandingBehind(queue_ms, limit_ms, unsent=unsent, retry_seconds=seconds)
    if verdict is Verdict.FULL:
        raise QueueFull(numbers[1], most)
    return numbers[0]


def _require_usable_nonces(signed: Sequence[Signed], bundle_id: str, at: Sequence[str]) -> None:
    """Raises NonceUnusable. What is pending may have moved its nonce itself: it is answered as it
    was.
    """
    try:
        for each, where in zip(signed, at, strict=True):
            use = nonce_use(each.wire)
            if use is not None:
                require_usable(each.wire, use, at=where)
    except NonceUnusable:
        names = pending_names(bundle_id, [each.wire.signatures[0] for each in signed])
        if not _is_pending_by(names[0]):
            raise


def _note_cosubmitter(names: Sequence[bytes], origin: Origin) -> None:
    """Others have these pending, by signatures and a bundle's id: this key may read their fate and
    gets their events, too. Rare enough for a database write.
    """
    if origin.key_id is None:
        return
    signatures = [each for each in names if len(each) == _SIGNATURE_BYTES]
    accepted_at = datetime.fromtimestamp(origin.received_at, UTC)
    try:
        cosubmitters.note(names, key_id=origin.key_id, accepted_at=accepted_at)
        publish_late(dict.fromkeys(signatures, origin.key_id), now=accepted_at)
    except AWAY:
        raise QueueUnavailable from None


async def _offer(
    offered: Offered, *, now: int, most: int, limits: Limits
) -> tuple[Verdict, list[int]]:
    try:
        token = begin(offered.tier)
        try:
            return await offer(offered, now=now, most=most, limits=limits)
        finally:
            end(token)
    except script_socket.RedisSlow as slow:
        if not limits.slots:
            raise not_queued(slow) from None
        raise LandingBehind(
            slow.waited_ms,
            limits.slots * limits.slot_ms,
            unsent=slow.waiting,
            retry_seconds=_SLOW_RETRY_SECONDS,
        ) from None
    except script_socket.RedisAway as away:
        raise (QueueUnavailable() if away.sent else not_queued(away)) from None


def _offered(
    signed: Sequence[Signed],
    origin: Origin,
    wishes: Wishes,
    kind: str,
    bundle_id: str,
    seconds: int,
    blockhashes: Sequence[bytes] = (),
) -> Offered:
    signatures = [each.wire.signatures[0] for each in signed]
    accepted = Accepted(
        kind=kind,
        signatures=signatures,
        wires=[each.data for each in signed],
        received_at=origin.received_at,
        key_id=origin.key_id,
        tier=origin.tier,
        edge=origin.edge,
        request_id=origin.request_id,
        max_retries=wishes.max_retries,
        only=list(wishes.only),
        bundle_id=bundle_id,
    )
    names = pending_names(bundle_id, signatures)
    head, tail = pack_around_tip(accepted)
    return Offered(
        tier=origin.tier,
        known=[pending_key(name) for name in names],
        known_value=f"{origin.received_at}|{'' if origin.key_id is None else origin.key_id}",
        known_seconds=seconds,
        blockhashes=blockhashes,
        head=head,
        tail=tail,
        live_keys=[],
        tips=[],
        sure_tip=None,
    )


def _with_tips(offered: Offered, found: Candidates) -> Offered:
    return offered._replace(
        live_keys=[live_key(tip.pubkey) for tip in found.fetched],
        tips=[_packed(tip) for tip in found.fetched],
        sure_tip=None if found.sure is None else _packed(found.sure),
    )


def _packed(tip: Tip) -> PackedTip:
    return PackedTip(pack_tip(tip), tip.lamports)
