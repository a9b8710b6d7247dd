"""Queries on submissions and bundles as their owners see them.

Everyone sees what was accepted without a key; what came with a key is seen with the keys of the
same customer, so that a rotated key sees what its forerunner sent. Sweeps have no owner.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Exists, Q
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from access.models import ApiKey
from columns.queries import all_rows
from columns.raw_queries import fetch_one
from priority.fates.store import bundles, cosubmitters
from priority.fates.store.shared import bundle_of
from priority.models import Attempt, Bundle, CoSubmitter, Submission
from staff.beginnings import Beginning

_BATCH = 2_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def submissions(signatures: Sequence[bytes], key_id: int | None) -> list[Submission]:
    """Those of the signatures that the key's holder sees, each with its bundle."""
    rows = Submission.objects.filter(_seen_by(key_id), signature__in=signatures)
    found = rows.exclude(kind=Submission.Kind.SWEEP).select_related("bundle")
    return with_own_bundles(found, key_id)


def submission_with_attempts(signature: bytes, key_id: int | None) -> Submission | None:
    """The one with its bundle and its attempts, if the key's holder sees it. It is asked for by
    every client that polls: one prepared statement, where the ORM makes three and takes six
    thousand calls for them.
    """
    found = fetch_one(_ONE, signature)
    if found is None:
        return None
    *values, bundle_id, bundle_key, listed = found
    row = Submission.from_db("default", _COLUMNS, [*map(_value, _COLUMNS, values)])
    attempts = msgspec.json.decode(listed or b"[]")
    made_for = {each[-1] for each in attempts}
    seen = _seeing(key_id, {None, key_id}, {row.key_id, bundle_key} | made_for)
    if row.key_id not in seen:
        return None
    row.bundle = None if bundle_id is None else Bundle(bundle_id=bundle_id, key_id=bundle_key)
    if bundle_key not in seen - {None}:
        with_own_bundles([row], key_id)
    row.attempts_read = [_attempt(*each) for *each, key in attempts if key in seen]
    return row


def _seeing(key_id: int | None, own: set[int | None], named: set[int | None]) -> set[int | None]:
    """The keys whose acceptances and attempts the key's holder sees: `own`, and those of the same
    customer, which are read only if others are `named`.
    """
    if key_id is None or named <= own:
        return own
    return own | {*keys_of_the_customer(key_id)}


# How a column is selected; the others are read as they are.
_SELECTED = {
    "state": "state::text",
    "commitment": "commitment::text",
    "reason": "reason::text",
    "edge": "edge::text",
    "tier": "tier::text",
    "kind": "kind::text",
    "will_fail": "will_fail::text",
    "stopped": "stopped::text",
    "err": "err::text",
    "only": "array_to_json(only)::text",
}
_MOMENTS = ("accepted_at", "sent_at", "seen_at", "settled_at")
# In the order of the model.
_COLUMNS = (
    "id",
    "signature",
    "kind",
    "key_id",
    "tier",
    "edge",
    "only",
    "max_retries",
    "tip_address",
    "tip_lamports",
    "tip_instruction_index",
    "blockhash",
    "is_nonced",
    "nonce",
    "will_fail",
    "accepted_at",
    "accepted_slot",
    "last_valid_block_height",
    "state",
    "commitment",
    "reason",
    "slot",
    "transaction_index",
    "err",
    "stopped",
    "tries",
    "sent_at",
    "seen_at",
    "settled_at",
)


def _microseconds(column: str) -> str:
    return f"(extract(epoch from {column}) * 1000000)::bigint"


_ONE = f"""
SELECT {
    ", ".join(
        _microseconds(f"s.{name}") if name in _MOMENTS else f"s.{_SELECTED.get(name, name)}"
        for name in _COLUMNS
    ).replace("s.array_to_json(only)", "array_to_json(s.only)")
},
  b.bundle_id::text, b.key_id,
  (SELECT json_agg(json_build_array(a.id, a.upstream, a.target, a.number,
     {_microseconds("a.started_at")}, a.latency_us, a.outcome, a.answer, a.made_for)
     ORDER BY a.id)::text
   FROM priority_attempt a WHERE a.submission_id = s.id)
FROM priority_submission s LEFT JOIN priority_bundle b ON b.id = s.bundle_id
WHERE s.signature = $1 AND s.kind <> 'sweep'
"""


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _MOMENTS:
        return _moment(value)
    if name in ("err", "only"):
        return msgspec.json.decode(value)
    if name in ("tip_address", "nonce"):
        return Pubkey.from_bytes(value)
    if name == "signature":
        return Signature.from_bytes(value)
    return Hash.from_bytes(value) if name == "blockhash" else value


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _attempt(
    identity: int,
    upstream: str,
    target: str,
    number: int,
    started_at: int,
    latency_us: int,
    outcome: str,
    answer: str,
) -> Attempt:
    return Attempt(
        id=identity,
        upstream=upstream,
        target=target,
        number=number,
        started_at=_moment(started_at),
        latency_us=latency_us,
        outcome=outcome,
        answer=answer,
    )


def newest(key_id: int, *, limit: int, before: int | None) -> list[Submission]:
    """The newest submissions of the key's customer, those below the row `before` alone."""
    return _listed(key_id, newest=True, below=2**63 - 1 if before is None else before, limit=limit)


def accepted_after(key_id: int, row: int, *, limit: int) -> list[Submission]:
    """Submissions of the key's customer above the row, ascending."""
    return _listed(key_id, newest=False, above=row, limit=limit)


def _listed(
    key_id: int, *, newest: bool, limit: int, above: int = 0, below: int = 2**63 - 1
) -> list[Submission]:
    """Between the rows, also those that another customer had submitted before."""
    found: list[Submission] = []
    # By each key on its own, in the order of its index: together they would be sorted whole.
    for owned in keys_of_the_customer(key_id):
        rows = Submission.objects.filter(key=owned, id__gt=above, id__lt=below)
        found += rows.select_related("bundle").order_by("-id" if newest else "id")[:limit]
    found = with_own_bundles(found, key_id)
    for customer in customers_of([key_id]).values():
        found += cosubmitters.listed(customer, above=above, below=below, newest=newest, limit=limit)
    return sorted(found, key=lambda row: row.pk, reverse=newest)[:limit]


def with_own_bundles(rows: Iterable[Submission], key_id: int | None) -> list[Submission]:
    """The rows, which the key's holder sees, each with the bundle in which the holder's customer
    sent it, not with that of another one. Not to be saved.
    """
    found = list(rows)
    doubtful = [row for row in found if row.bundle and row.bundle.key_id != row.key_id]
    if doubtful:
        own = dict(all_rows(_OWN_BUNDLES, [key_id, [row.pk for row in doubtful]]))
        for row in doubtful:
            bundle_id = own.get(row.pk)
            row.bundle = None if bundle_id is None else Bundle(bundle_id=bundle_id)
    return found


_OWN_BUNDLES = (
    f"SELECT s.id, {bundle_of('k.customer_id')} FROM priority_submission s, access_apikey k"
    " WHERE k.id = %s AND s.id = ANY(%s)"
)


def row_of(key_id: int, signature: bytes) -> int | None:
    """The row of a submission of the key's customer, also of one after another customer's."""
    keys = keys_of_the_customer(key_id)
    also = CoSubmitter.objects.filter(name=signature, key__in=keys)
    rows = Submission.objects.filter(Q(key__in=keys) | Exists(also), signature=signature)
    return rows.values_list("pk", flat=True).first()


def row_before(moment: datetime) -> int:
    """The row below the first submission that was accepted at the moment or later."""
    rows = Submission.objects.filter(accepted_at__gte=moment).order_by("accepted_at", "pk")
    first = rows.values_list("pk", flat=True).first()
    return 2**62 if first is None else first - 1


def bundle_with_attempts(bundle_id: str, key_id: int | None) -> Bundle | None:
    """The bundle with `rows_read`, its transactions as the key's holder sees them."""
    found = Bundle.objects.filter(_seen_by(key_id), bundle_id=bundle_id).first()
    if found is None:
        return None
    found.rows_read = bundles.rows_of(found, with_attempts=True)
    # Another customer may have sent one of its transactions before, or since.
    rows_of = {row: list(row.attempts.all()) for row in found.rows_read}
    # Attempts for a submission without a key are those of key 0.
    made_for = {each.made_for for attempts in rows_of.values() for each in attempts}
    named = made_for | {row.key_id for row in rows_of}
    seen = _seeing(key_id, {None, found.key_id or 0, found.key_id}, named)
    for row, attempts in rows_of.items():
        own = row.key_id in seen
        row.attempts_read = [
            each for each in attempts if (own if each.made_for is None else each.made_for in seen)
        ]
        if not own:
            cosubmitters.as_shared(
                row, accepted_at=found.accepted_at, bundle=found, attempts=row.attempts_read
            )
    return found


def _seen_by(key_id: int | None) -> Q:
    without_key = Q(key__isnull=True)
    if key_id is None:
        return without_key
    holder = ApiKey.objects.filter(pk=key_id).values("customer")
    return without_key | Q(key__customer__in=holder)


def keys_of_the_customer(key_id: int) -> list[int]:
    """Every key of the customer that holds this one."""
    holder = ApiKey.objects.filter(pk=key_id).values("customer")
    return list(ApiKey.objects.filter(customer__in=holder).values_list("pk", flat=True))


def customers_of(key_ids: Collection[int]) -> dict[int, int]:
    return dict(ApiKey.objects.filter(pk__in=key_ids).values_list("pk", "customer_id"))


def forget_settled_before(moment: datetime) -> int:
    """Deletes some of the submissions that were accepted and settled before, and the bundles that
    have none left; how many submissions, 0 when there is none.
    """
    # Of both moments: the index has the one, and the other may be much later.
    return _forget(Q(accepted_at__lt=moment, settled_at__lt=moment))


def forget_unwatched_before(moment: datetime) -> int:
    """The same of those that were accepted before and whose nonces are not watched any more."""
    return _forget(
        Q(accepted_at__lt=moment, settled_at__isnull=True, is_nonced=True, is_watched=False)
    )


def _forget(which: Q) -> int:
    with transaction.atomic():
        rows = list(
            Submission.objects.filter(which)
            .order_by("accepted_at")
            .values_list("pk", "bundle_id", "signature")[:_BATCH]
        )
        if not rows:
            return 0
        deleted = Submission.objects.filter(pk__in=[pk for pk, *_ in rows]).delete()[1]
        held = {bundle for _, bundle, _ in rows if bundle is not None}
        held.update(bundles.with_transactions([bytes(name) for *_, name in rows]))
        bundles.forget_empty(held)
    return deleted.get("priority.Submission", 0)


def signatures_beginning(beginning: Beginning) -> Q | None:
    """By ranges of the signature's index; None if no signature begins so."""
    found = None
    for first, last in beginning.signatures:
        within = Q(signature__gte=first, signature__lte=last)
        found = within if found is None else found | within
    return found
