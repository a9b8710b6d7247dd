"""Other submitters of a transaction or bundle, besides the customer of its row."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from access.models import ApiKey
from columns.queries import all_rows
from priority.fates.reasons import for_others
from priority.fates.store.bundles import rows_of
from priority.fates.store.shared import IS_FIRST, NOTED, bundle_of
from priority.models import Attempt, Bundle, CoSubmitter, Submission
from priority.reports.store.counts import note_steps
from priority.submissions import State

# A key that was deleted meanwhile notes nothing.
_NOTE = f"""
WITH noted AS (INSERT INTO priority_cosubmitter (name, key_id, accepted_at)
SELECT n.name, k.id, %s FROM unnest(%s::bytea[]) AS n(name), access_apikey k WHERE k.id = %s
ON CONFLICT DO NOTHING RETURNING accepted_at) {note_steps("noted")}
"""
_OTHERS = (
    f"SELECT c.name, c.key_id, {bundle_of('k.customer_id')}, {IS_FIRST} FROM {NOTED}"
    " WHERE c.name = ANY(%s) ORDER BY c.id"
)

_SHARED = (
    f"SELECT s.id, c.key_id, c.accepted_at, {bundle_of('k.customer_id')} FROM {NOTED}"
    f" WHERE k.customer_id = %s AND {IS_FIRST}"
)
_LAST = 2**63 - 1


def note(names: Sequence[bytes], *, key_id: int, accepted_at: datetime) -> None:
    """The key's customer may read these too: signatures and bundles' ids. Durable."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit TO on")
        cursor.execute(_NOTE, [accepted_at, list(names), key_id])


def since(names: Collection[bytes], key_id: int) -> dict[bytes, datetime]:
    """When the key's customer first submitted them, of those that another customer had submitted
    before.
    """
    holder = ApiKey.objects.filter(pk=key_id).values("customer")
    rows = CoSubmitter.objects.filter(name__in=names, key__customer__in=holder)
    return {
        bytes(name): accepted_at
        for name, accepted_at in rows.order_by("-accepted_at").values_list("name", "accepted_at")
    }


class Other(NamedTuple):
    """A key that submitted a transaction besides the key of its row; `bundle_id` is that of its
    customer's bundle with the transaction, or "". `is_first` for one key of each customer but the
    row's.
    """

    key_id: int
    bundle_id: str
    is_first: bool


def others(signatures: Collection[bytes]) -> dict[bytes, list[Other]]:
    """By signature, in the order in which they submitted it."""
    found: dict[bytes, list[Other]] = defaultdict(list)
    if signatures:
        for name, key_id, bundle_id, is_first in all_rows(_OTHERS, [list(signatures)]):
            found[bytes(name)].append(Other(key_id, bundle_id or "", is_first))
    return found


def submissions(signatures: Collection[bytes], customer: int) -> list[Submission]:
    """Those of them that the customer submitted after another one, as it sees them."""
    return _shared(customer, "c.name = ANY(%s)", [list(signatures)])


def listed(
    customer: int, *, above: int = 0, below: int = _LAST, state: str = "", newest: bool, limit: int
) -> list[Submission]:
    """Likewise, those between two rows, with a state if one is given, by their rows: the newest or
    the oldest ones.
    """
    condition = "s.id > %s AND s.id < %s AND (%s = '' OR s.state = %s) ORDER BY s.id {} LIMIT %s"
    ordered = condition.format("DESC" if newest else "ASC")
    found = _shared(customer, ordered, [above, below, state, state, limit])
    return sorted(found, key=lambda row: row.pk, reverse=newest)


def to_address(customer: int, address: bytes, limit: int) -> list[Submission]:
    """Likewise, some of those with a tip to the address."""
    return _shared(customer, "s.tip_address = %s LIMIT %s", [address, limit])


def seen_by(customer: int, rows: Iterable[Submission]) -> list[Submission]:
    """The rows as the customer sees them, who submitted each. Not to be saved."""
    found = list(rows)
    shared = {row.pk: row for row in _shared(customer, "s.id = ANY(%s)", [[r.pk for r in found]])}
    return [shared.get(row.pk, row) for row in found]


def as_shared(
    row: Submission, *, accepted_at: datetime, bundle: Bundle | None, attempts: list[Attempt]
) -> Submission:
    """The row as another submitter of the same sees it, who sent it then and in that bundle, with
    the attempts that were made for it: without how the customer of the row had it sent. Not to be
    saved.
    """
    row.accepted_at, row.bundle = accepted_at, bundle
    row.kind = Submission.Kind.TRANSACTION if bundle is None else Submission.Kind.BUNDLE
    row.sent_at = row.sent_at and max(row.sent_at, accepted_at)
    row.accepted_slot = row.max_retries = None
    row.tier = row.edge = row.request_id = ""
    row.reason = for_others(row.reason, refused=row.state == State.REFUSED)
    row.stopped = for_others(row.stopped, refused=False)
    row.only, row.attempts_read = [], attempts
    row.tries = max((each.number for each in attempts), default=0)
    return row


def _shared(customer: int, condition: str, parameters: list[Any]) -> list[Submission]:
    seen = all_rows(f"{_SHARED} AND {condition}", [customer, *parameters])
    found = {pk: values for pk, *values in seen}
    if not found:
        return []
    keys = ApiKey.objects.filter(customer=customer)
    own = Attempt.objects.filter(submission__in=found, made_for__in=keys.values("pk"))
    attempts = defaultdict(list)
    for each in own.order_by("pk"):
        attempts[each.submission_id].append(each)
    rows = list(Submission.objects.filter(pk__in=found).select_related("bundle"))
    for row in rows:
        row.key_id, accepted_at, bundle_id = found[row.pk]
        bundle = Bundle(bundle_id=bundle_id) if bundle_id else None
        as_shared(row, accepted_at=accepted_at, bundle=bundle, attempts=attempts[row.pk])
    return rows


def bundle(bundle_id: str) -> Bundle | None:
    """Whosever it is."""
    return Bundle.objects.filter(bundle_id=bundle_id).first()


def signatures_of(bundle_id: str) -> list[bytes]:
    """Of its transactions, in their order."""
    found = bundle(bundle_id)
    return [] if found is None else [bytes(row.signature) for row in rows_of(found)]


def forget_before(moment: datetime) -> None:
    CoSubmitter.objects.filter(accepted_at__lt=moment).delete()
