"""Queries that settle fates: a statement for any number of submissions, without waiting for locks.

Rows that a lander has just locked are skipped: the next run settles them.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from columns.advisory_locks import AdvisoryLock, try_for
from columns.queries import all_rows, execute
from columns.raw_queries import MOMENT, exists, fetch_all, microseconds
from priority.fates.store.bundles import IS_OPEN
from priority.fates.store.shared import bundle_of
from priority.models import Bundle, CoSubmitter, Submission
from priority.reports.store.counts import note_steps

# What the fate of a submission says whose nonce is not watched any more.
WATCH_ENDED = (
    "watch_ended: unknown, watch ended: its durable nonce could still take it after as long as"
    " submissions are kept"
)
_PAGE = 2_000


class UnsettledRow(NamedTuple):
    """A submission whose fate is not final."""

    id: int
    signature: bytes
    blockhash: bytes
    accepted_at: datetime
    accepted_slot: int | None
    last_valid_block_height: int | None
    slot: int | None
    advance_index: int | None


class WatchedRow(NamedTuple):
    """A submission on a durable nonce whose fate is not final: its nonce account, and the signers
    among whom the nonce's authority must be. Both are None for one of an older version.
    """

    id: int
    signature: bytes
    blockhash: bytes
    nonce: bytes | None
    nonce_signers: bytes | None
    accepted_at: datetime
    accepted_slot: int | None


class FoundRow(NamedTuple):
    """Where a transaction stands: in a finalized block, at an index where that is known. `err` is
    JSON.
    """

    signature: bytes
    slot: int
    transaction_index: int | None
    err: str | None


class SettledRow(NamedTuple):
    """What has become of a submission; `err` is JSON."""

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
    f" {bundle_of('(SELECT customer_id FROM access_apikey WHERE id = s.key_id)')} AS bundle_id,"
    " s.accepted_at, s.sent_at"
)
# In the same transaction: their steps have to be counted again
# (priority.reports.services.counting), and those in which others submitted the same.
_STEPS = note_steps(
    "(SELECT accepted_at FROM settled UNION ALL SELECT c.accepted_at"
    " FROM priority_cosubmitter c JOIN settled ON settled.signature = c.name) AS moved"
)
_NOTED = f"noted AS ({_STEPS}) SELECT {', '.join(SettledRow._fields)} FROM settled"
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
    " commitment = 'finalized', reason = '', stopped = '', slot = f.slot,"
    " transaction_index = f.transaction_index, err = f.err::jsonb,"
    " seen_at = COALESCE(s.seen_at, %s), settled_at = %s"
    f" FROM found f WHERE s.id = f.id RETURNING {_RETURNED}), {_NOTED}"
)
_SETTLE_LOST = (
    "WITH lost AS (SELECT s.id, v.reason, s.id = ANY(%s) AS was_over FROM priority_submission s"
    " JOIN unnest(%s::bigint[], %s::text[]) AS v(id, reason) ON v.id = s.id"
    f" WHERE s.settled_at IS NULL{_LOCKED}),"
    " settled AS (UPDATE priority_submission s SET"
    " state = CASE WHEN s.sent_at IS NULL THEN 'refused' ELSE 'expired' END,"
    # Where a nonce moved that is the reason, whatever an upstream answered before.
    " reason = left(CASE WHEN s.sent_at IS NOT NULL OR s.is_nonced OR l.was_over THEN l.reason"
    " WHEN s.reason = '' THEN 'never_sent' ELSE s.reason END, 200),"
    " stopped = '', commitment = '', slot = NULL,"
    " transaction_index = NULL, err = NULL, seen_at = NULL, settled_at = %s"
    f" FROM lost l WHERE s.id = l.id RETURNING {_RETURNED}), {_NOTED}"
)


_WATCHED = " FROM priority_submission WHERE settled_at IS NULL AND is_watched"
_END_WATCHES = (
    f"WITH old AS (SELECT id{_WATCHED} AND accepted_at < %s ORDER BY id LIMIT %s"
    " FOR UPDATE SKIP LOCKED) UPDATE priority_submission s SET is_watched = false,"
    f" reason = %s, stopped = %s FROM old WHERE s.id = old.id RETURNING {_RETURNED}"
)
_OF_WATCHED = f"SELECT {', '.join(WatchedRow._fields)}{_WATCHED}"


def awaited() -> list[bytes]:
    """Signatures whose fate is not final, without those on durable nonces: those are looked up by
    their nonce accounts.
    """
    rows = fetch_all(
        "SELECT signature FROM priority_submission WHERE settled_at IS NULL AND NOT is_nonced"
    )
    return [signature for (signature,) in rows]


def is_any_watched() -> bool:
    return exists(f"SELECT{_WATCHED}")


def watched_nonces() -> set[bytes]:
    """Every nonce account that is watched."""
    rows = fetch_all(f"SELECT DISTINCT nonce{_WATCHED} AND nonce IS NOT NULL")
    return {nonce for (nonce,) in rows}


def on_nonces(nonces: Collection[bytes]) -> list[WatchedRow]:
    """Watched submissions on any of these nonce accounts."""
    if not nonces:
        return []
    return _watched(f"{_OF_WATCHED} AND nonce = ANY(%s)", [list(nonces)])


def nonces_to_check(*, accepted_before: datetime, now: datetime, most: int) -> list[WatchedRow]:
    """Watched submissions whose nonces are due to be looked at; new ones first."""
    return _watched(
        f"{_OF_WATCHED} AND accepted_at <= %s AND (nonce_check_at IS NULL OR nonce_check_at <= %s)"
        " ORDER BY nonce_check_at NULLS FIRST LIMIT %s",
        [accepted_before, now, most],
    )


def check_again(ids: Collection[int], at: datetime) -> None:
    """Their nonces are looked at again then."""
    if ids:
        # In one order, as every other writer of several rows does.
        execute(
            "WITH due AS (SELECT id FROM priority_submission WHERE id = ANY(%s)"
            " AND settled_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED)"
            " UPDATE priority_submission s SET nonce_check_at = %s FROM due"
            " WHERE s.id = due.id",
            [list(ids), at],
        )


def end_watches(*, accepted_before: datetime, most: int) -> list[SettledRow]:
    """Ends the watch of nonces for submissions of before then, of some, and returns these. What
    becomes of them is unknown from then on.
    """
    return _settled(_END_WATCHES, [accepted_before, most, WATCH_ENDED, WATCH_ENDED])


def _watched(sql: str, parameters: list[Any]) -> list[WatchedRow]:
    rows = all_rows(sql, parameters)
    return [
        WatchedRow(
            pk,
            bytes(signature),
            bytes(blockhash),
            None if nonce is None else bytes(nonce),
            None if signers is None else bytes(signers),
            *rest,
        )
        for pk, signature, blockhash, nonce, signers, *rest in rows
    ]


def alone() -> bool:
    """Whether this is the only worker that settles until this transaction ends."""
    return try_for(AdvisoryLock.SETTLING)


def unsettled(*, accepted_before: datetime) -> Iterator[list[UnsettledRow]]:
    """Those without a durable nonce, page by page, the newest ones first: rows that wait for a gap
    delay no others.
    """
    chosen = Submission.objects.filter(
        settled_at__isnull=True, is_nonced=False, accepted_at__lte=accepted_before
    )
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


def is_unsettled(*, accepted_before: datetime, now: datetime) -> bool:
    """Whether a submission that was accepted before is not settled, or a bundle whose transactions
    are, or a nonce is to be looked at.
    """
    is_old = f" AND accepted_at <= {MOMENT.format('$1')}"
    return exists(
        f"SELECT FROM priority_submission WHERE settled_at IS NULL AND NOT is_nonced{is_old}",
        f"SELECT{_WATCHED}{is_old} AND nonce_check_at IS NULL",
        f"SELECT{_WATCHED}{is_old} AND nonce_check_at <= {MOMENT.format('$2')}",
        f"SELECT FROM priority_bundle b WHERE settled_at IS NULL AND NOT {IS_OPEN}",
        parameters=(microseconds(accepted_before), microseconds(now)),
    )


def settle_found(rows: Sequence[FoundRow], *, now: datetime) -> list[SettledRow]:
    """Settles those in finalized blocks; returns the changed ones."""
    if not rows:
        return []
    columns = [list(column) for column in zip(*rows, strict=True)]
    return _settled(_SETTLE_FOUND, [*columns, now, now])


def settle_lost(
    reasons: dict[int, str], over_before: Collection[int], *, now: datetime
) -> list[SettledRow]:
    """Settles those that can never land. If no upstream took one, its reason stays the last
    upstream's answer, unless it could not land any more when it was accepted.
    """
    if not reasons:
        return []
    ids, texts = list(reasons), list(reasons.values())
    return _settled(_SETTLE_LOST, [list(over_before), ids, texts, now])


def settled_among(signatures: Sequence[bytes]) -> list[SettledRow]:
    """Those of them whose fate is final. If one is just being settled, waits until it is."""
    execute(
        "SELECT FROM priority_submission WHERE signature = ANY(%s) ORDER BY id FOR SHARE",
        [list(signatures)],
    )
    return _settled(
        f"SELECT {_RETURNED} FROM priority_submission s"
        " WHERE s.signature = ANY(%s) AND s.settled_at IS NOT NULL ORDER BY s.id",
        [list(signatures)],
    )


def unsettled_bundles() -> list[int]:
    """Those of whose transactions none is left to settle."""
    rows = fetch_all(
        f"SELECT id FROM priority_bundle b WHERE settled_at IS NULL AND NOT {IS_OPEN} ORDER BY id"
    )
    return [pk for (pk,) in rows]


def locked_bundles(pks: Collection[int]) -> list[Bundle]:
    """Those without a lock."""
    locked = Bundle.objects.filter(pk__in=pks).order_by("pk").select_for_update(skip_locked=True)
    return list(locked)


def keys_of(signatures: Collection[bytes]) -> dict[bytes, int]:
    """The keys with which the transactions were submitted first, of those that were, with one."""
    rows = Submission.objects.filter(signature__in=list(signatures))
    found = {bytes(each): pk for each, pk in rows.values_list("signature", "key_id")}
    without = [each for each, pk in found.items() if pk is None]
    if without:
        noted = CoSubmitter.objects.filter(name__in=without).order_by("-pk")
        found |= {bytes(each): pk for each, pk in noted.values_list("name", "key_id")}
    return {each: pk for each, pk in found.items() if pk is not None}


def _settled(sql: str, parameters: list[Any]) -> list[SettledRow]:
    rows = [SettledRow(*row) for row in all_rows(sql, parameters)]
    return [
        row._replace(signature=bytes(row.signature), bundle_id=row.bundle_id or "") for row in rows
    ]
