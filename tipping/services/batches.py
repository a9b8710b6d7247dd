"""A batch's life cycle: prepared, open for its window, closed."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from tipping.models import TipBatch, TtlClass
from tipping.services.tip_keys import tip_keypair
from tipping.store import batches as store
from tipping.store import epochs

log = logging.getLogger(__name__)

# Prepared batches per class: the next one, and one more for a class that is used up at once.
KEPT_PREPARED = 2
# The share of addresses left below which a batch may run out before its window ends.
_NEARLY_DRY = 0.1


@dataclass(frozen=True, slots=True)
class ClassState:
    """The state of one class. `left` counts unissued addresses; `unavailable_since` is when its
    last batch closed, or its window ended, without a successor; None while one can be fetched from
    or before the first.
    """

    ttl_class: TtlClass
    batch: TipBatch | None
    issued: int
    left: int
    prepared: int
    unavailable_since: datetime | None

    @property
    def is_available(self) -> bool:
        return self.batch is not None and self.left > 0 and self.unavailable_since is None

    @property
    def is_nearly_dry(self) -> bool:
        """Few addresses are left, or no other batch is prepared."""
        if self.batch is None:
            return False
        return self.prepared == 0 or self.left <= self.batch.size * _NEARLY_DRY


def prepare_batches(*, seed: bytes, now: datetime) -> int:
    """Prepares KEPT_PREPARED batches for every class. Returns how many it made."""
    return sum(
        prepare(ttl_class.pk, seed=seed, now=now, keep=KEPT_PREPARED)
        for ttl_class in store.ttl_classes()
    )


def prepare(ttl_class_id: int, *, seed: bytes, now: datetime, keep: int) -> int:
    """Makes batches until `keep` are prepared. Returns how many it made. Stops while another worker
    prepares batches, of any class.
    """
    made = 0
    while _prepare_one(ttl_class_id, seed=seed, now=now, keep=keep):
        made += 1
    return made


@transaction.atomic
def _prepare_one(ttl_class_id: int, *, seed: bytes, now: datetime, keep: int) -> bool:
    known = store.class_by_id(ttl_class_id)
    if known is None or store.prepared_count(known) >= keep or not store.may_prepare():
        return False
    # Starts at the Unix time: a restored database repeats no number.
    number = max(store.last_number() + 1, int(now.timestamp()))
    epoch = epochs.current(now=now)
    # Before the class is locked: thousands of keys take seconds.
    pubkeys = [
        bytes(
            tip_keypair(
                seed,
                epoch=epoch,
                ttl_seconds=known.ttl_seconds,
                number=number,
                position=position,
            ).pubkey()
        )
        for position in range(known.batch_size)
    ]
    ttl_class = store.lock_class(ttl_class_id, wait=True)
    if ttl_class is None or store.prepared_count(ttl_class) >= keep:
        return False
    if epochs.current(now=now) != epoch:
        return False  # a new epoch began meanwhile
    store.delete_unseen(store.outdated(ttl_class))
    if (ttl_class.ttl_seconds, ttl_class.batch_size) == (known.ttl_seconds, known.batch_size):
        store.add(ttl_class, epoch=epoch, number=number, now=now, pubkeys=pubkeys)
    return True


def is_rotation_due(*, now: datetime) -> bool:
    """Whether `rotate_due` has something to do."""
    return bool(store.due(now=now))


def is_preparation_due(*, now: datetime) -> bool:
    """Whether a class has too few prepared batches, or closed ones have unissued addresses."""
    return store.has_too_few_prepared(KEPT_PREPARED) or is_rotation_due(now=now)


def rotate_due(*, now: datetime) -> int:
    """Rotates every class whose batch ended or is used up. Returns how many batches it opened."""
    return sum(rotate(ttl_class_id, now=now) for ttl_class_id in store.due(now=now))


def rotate(
    ttl_class_id: int,
    *,
    now: datetime,
    edge_id: int | None = None,
    wait: bool = False,
    force: bool = False,
) -> bool:
    """Closes the class's batch when its window is over, when it is used up (for `edge_id`, if
    given) or with `force`, and opens the next prepared one. Returns whether it opened one. Without
    `wait` it skips a class that another worker has locked. Safe to call concurrently.
    """
    with transaction.atomic():
        ttl_class = store.lock_class(ttl_class_id, wait=wait)
        if ttl_class is None:
            return False
        current = store.open_batch(ttl_class_id)
        following = store.oldest_prepared(ttl_class)
        if current is not None:
            if not _is_over(current, ttl_class, now=now) and (
                # Addresses that another edge still has are better than no batch at all.
                following is None or not (force or _is_dry(current, edge_id=edge_id))
            ):
                return False
            store.close(current, now=now)
        if following is not None:
            opened_at = now.replace(microsecond=0)
            window_ends_at = opened_at + timedelta(seconds=ttl_class.window_seconds)
            expires_at = window_ends_at + timedelta(seconds=ttl_class.ttl_seconds)
            store.open_(
                following, now=opened_at, window_ends_at=window_ends_at, expires_at=expires_at
            )
    _log_rotation(ttl_class, closed=current, opened=following)
    return following is not None


def _is_over(batch: TipBatch, ttl_class: TtlClass, *, now: datetime) -> bool:
    """Nothing more may be issued from it, even if no batch follows."""
    return (
        batch.window_ends_at is None
        or batch.window_ends_at <= now
        or batch.ttl_seconds != ttl_class.ttl_seconds
        or not store.unissued(batch)
    )


def _is_dry(batch: TipBatch, *, edge_id: int | None) -> bool:
    """The edge has no more addresses: its slice is used up, and no address is unclaimed."""
    if edge_id is None or store.unclaimed(batch):
        return False
    return not store.unissued(batch, edge_id=edge_id)


def _log_rotation(ttl_class: TtlClass, *, closed: TipBatch | None, opened: TipBatch | None) -> None:
    """Logs once per rotation: only one process closes a given batch."""
    if opened is None and closed is not None:
        log.error(
            "no tip addresses of the class of %s: its batch %d closed and none is prepared",
            ttl_class,
            closed.number,
        )
    elif opened is not None:
        log.info("tip batch %s is open", opened)


def renew(ttl_class_id: int, *, now: datetime) -> None:
    """Stops issuing from existing batches: closes the open batch, deletes prepared ones and begins
    a new epoch. For a database restored from a backup, where addresses issued since the backup
    count as free, and whose original may still run.
    """
    epochs.begin(now=now)
    _discard_batches(ttl_class_id, now=now)


def renew_all(*, now: datetime) -> int:
    """`renew` for every class. Returns the number of classes."""
    epochs.begin(now=now)
    ttl_classes = store.ttl_classes()
    for ttl_class in ttl_classes:
        _discard_batches(ttl_class.pk, now=now)
    return len(ttl_classes)


@transaction.atomic
def _discard_batches(ttl_class_id: int, *, now: datetime) -> None:
    ttl_class = store.lock_class(ttl_class_id, wait=True)
    if ttl_class is None:
        return
    current = store.open_batch(ttl_class_id)
    if current is not None:
        store.close(current, now=now)
    store.delete_unseen(store.prepared(ttl_class))


def delete_never_issued(*, most: int = 20_000) -> int:
    """Deletes at most `most` unissued addresses of closed batches. Returns how many."""
    return store.delete_never_issued(most=most)


def overview(*, now: datetime) -> list[ClassState]:
    """The state of every class, shortest TTL first."""
    classes = store.ttl_classes()
    open_batches = {batch.ttl_class_id: batch for batch in store.open_batches()}
    counts = store.counts([batch.pk for batch in open_batches.values()])
    states = []
    for ttl_class in classes:
        batch = open_batches.get(ttl_class.pk)
        issued, left = counts.get(batch.pk, (0, 0)) if batch is not None else (0, 0)
        since = store.last_closed_at(ttl_class) if batch is None else _ended_at(batch, now=now)
        prepared = store.prepared_count(ttl_class)
        states.append(ClassState(ttl_class, batch, issued, left, prepared, since))
    return states


def _ended_at(batch: TipBatch, *, now: datetime) -> datetime | None:
    """When the window of an open batch ended that no fetch can rotate; None for others."""
    ended = batch.window_ends_at
    if ended is None or ended > now or store.oldest_prepared(batch.ttl_class) is not None:
        return None
    return ended
