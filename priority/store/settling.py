"""Queries that settle fates: a statement for any number of submissions, without waiting for locks.

Rows that a lander has just locked are skipped: the next run settles them.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

from columns.exists_queries import MOMENT, exists, microseconds
from columns.raw_queries import fetch_all
from priority.models import Bundle, Submission
from priority.store.counts import STEP_OF

_PAGE = 2_000
_LOOKING = 7_330


class UnsettledRow(NamedTuple):
    """A submission whose fate is not final."""

    id: int
    signature: bytes
    blockhash: bytes
    is_nonced: bool
    accepted_at: datetime
    accepted_slot: int | None
    last_valid_block_height: int | None
    slot: int | None


class FoundRow(NamedTuple):
    """Where a transaction stands: in a finalized block, at an index where that is known. `err` is
    JSON.
    """

    signature: bytes
    slot: int
    transaction_index: int | None
    err: str | None


class SettledRow(NamedTuple):
    """What a settled submission has become; `err` is JSON."""

    id: int
    signature: bytes
    kind: str
    key_id: int | None
    state: str
    commitment: str
    reason: str
    slot: int | None
    transaction_index: int | None
    err: str | None
    bundle_pk: int | None
    bundle_id: str
    accepted_at: datetime
    sent_at: datetime | None


_RETURNED = (
    "s.id, s.signature, s.kind, s.key_id, s.state, s.commitment, s.reason, s.slot,"
    " s.transaction_index, s.err::text AS err, s.bundle_id AS bundle_pk,"
    " (SELECT b.bundle_id FROM priority_bundle b WHERE b.id = s.bundle_id) AS bundle_id,"
    " s.accepted_at, s.sent_at"
)
# In the same transaction: their steps have to be counted again (priority.reports.counting).
_NOTED = (
    "noted AS (INSERT INTO priority_landingchange (start, noted_at) SELECT DISTINCT"
    f" {STEP_OF.format('accepted_at')}, clock_timestamp() FROM settled)"
    f" SELECT {', '.join(SettledRow._fields)} FROM settled"
)
# Rows are always locked in the order of their primary keys, without waiting.
_LOCKED = " ORDER BY s.id FOR UPDATE OF s SKIP LOCKED"
_SETTLE_FOUND = (
    "WITH found AS (SELECT s.id, v.* FROM priority_submission s"
    " JOIN unnest(%s::bytea[], %s::bigint[], %s::integer[], %s::text[])"
    " AS v(signature, slot, transaction_index, err) ON v.signature = s.signature"
    # A row settled without an index was given up, or a node reported it.
    " WHERE s.settled_at IS NULL"
    f" OR (s.transaction_index IS NULL AND v.transaction_index IS NOT NULL){_LOCKED}),"
    " settled AS (UPDATE priority_submission s SET"
    " state = CASE WHEN f.err IS NULL THEN 'landed' ELSE 'failed' END,"
    " commitment = 'finalized', reason = '', slot = f.slot,"
    " transaction_index = f.transaction_index, err = f.err::jsonb,"
    " seen_at = COALESCE(s.seen_at, %s), settled_at = %s"
    f" FROM found f WHERE s.id = f.id RETURNING {_RETURNED}), {_NOTED}"
)
_SETTLE_LOST = (
    "WITH lost AS (SELECT s.id, v.reason FROM priority_submission s"
    " JOIN unnest(%s::bigint[], %s::text[]) AS v(id, reason) ON v.id = s.id"
    f" WHERE s.settled_at IS NULL{_LOCKED}),"
    " settled AS (UPDATE priority_submission s SET"
    " state = CASE WHEN s.sent_at IS NULL THEN 'refused' ELSE 'expired' END,"
    " reason = left(CASE WHEN s.sent_at IS NOT NULL THEN l.reason WHEN s.reason = ''"
    " THEN 'never_sent' ELSE s.reason END, 200), commitment = '', slot = NULL,"
    " transaction_index = NULL, err = NULL, seen_at = NULL, settled_at = %s"
    f" FROM lost l WHERE s.id = l.id RETURNING {_RETURNED}), {_NOTED}"
)


def awaited() -> list[bytes]:
    """Signatures whose fate is not final, and those of nonces that may still come."""
    rows = fetch_all(
        "SELECT signature FROM priority_submission WHERE settled_at IS NULL"
        " UNION ALL SELECT signature FROM priority_submission"
        " WHERE is_nonced AND state IN ('expired', 'refused')"
    )
    return [signature for (signature,) in rows]


def alone() -> bool:
    """Whether this is the only worker that settles until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, 0)", [_LOOKING])
        return bool(cursor.fetchone()[0])


def unsettled(*, accepted_before: datetime) -> Iterator[list[UnsettledRow]]:
    """Page by page, the newest ones first: rows that wait for a gap delay no others."""
    chosen = Submission.objects.filter(settled_at__isnull=True, accepted_at__lte=accepted_before)
    oldest: int | None = None
    while True:
        below = chosen if oldest is None else chosen.filter(id__lt=oldest)
        rows = below.order_by("-id").values_list(*UnsettledRow._fields)[:_PAGE]
        page = [
            UnsettledRow(pk, bytes(signature), bytes(blockhash), *rest)
            for pk, signature, blockhash, *rest in rows
        ]
        if page:
            yield page
        if len(page) < _PAGE:
            return
        oldest = page[-1].id


def is_unsettled(*, accepted_before: datetime) -> bool:
    """Whether a submission that was accepted before, or a bundle, is not settled."""
    return exists(
        "SELECT FROM priority_submission WHERE settled_at IS NULL"
        f" AND accepted_at <= {MOMENT.format('$1')}",
        "SELECT FROM priority_bundle WHERE settled_at IS NULL",
        parameters=(microseconds(accepted_before),),
    )


def settle_found(rows: Sequence[FoundRow], *, now: datetime) -> list[SettledRow]:
    """Settles those in finalized blocks; returns the changed ones."""
    if not rows:
        return []
    columns = [list(column) for column in zip(*rows, strict=True)]
    return _settled(_SETTLE_FOUND, [*columns, now, now])


def settle_lost(reasons: dict[int, str], *, now: datetime) -> list[SettledRow]:
    """Settles those that can never land. If no upstream took one, its reason stays the last
    upstream's answer.
    """
    if not reasons:
        return []
    return _settled(_SETTLE_LOST, [list(reasons), list(reasons.values()), now])


def unsettled_bundles() -> QuerySet[Bundle]:
    return Bundle.objects.filter(settled_at__isnull=True)


def locked_bundles(pks: Collection[int]) -> list[Bundle]:
    """Those without a lock, with their submissions."""
    locked = Bundle.objects.filter(pk__in=pks).order_by("pk").select_for_update(skip_locked=True)
    return list(locked.prefetch_related("submissions"))


def keys_of(signatures: Collection[bytes]) -> dict[bytes, int]:
    """The keys with which the transactions were submitted, of those that were, with one."""
    found = Submission.objects.filter(signature__in=list(signatures), key__isnull=False)
    return {bytes(each): pk for each, pk in found.values_list("signature", "key_id") if pk}


def _settled(sql: str, parameters: list[Any]) -> list[SettledRow]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows = [SettledRow(*row) for row in cursor.fetchall()]
    return [
        row._replace(signature=bytes(row.signature), bundle_id=row.bundle_id or "") for row in rows
    ]
