"""Other submitters of a transaction or bundle, besides the customer of its row."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction

from access.models import ApiKey
from priority.fates.store.shared import IS_FIRST, NOTED, bundle_of
from priority.models import Bundle, CoSubmitter, Submission
from priority.reports.store.counts import note_steps

# A key that was deleted meanwhile notes nothing.
_NOTE = f"""
WITH noted AS (INSERT INTO priority_cosubmitter (name, key_id, accepted_at)
SELECT n.name, k.id, %s FROM unnest(%s::bytea[]) AS n(name), access_apikey k WHERE k.id = %s
ON CONFLICT DO NOTHING RETURNING accepted_at) {note_steps("noted")}
"""
_OTHERS = (
    f"SELECT c.name, c.key_id, {bundle_of('c.key_id')}, {IS_FIRST} FROM {NOTED}"
    " WHERE c.name = ANY(%s) ORDER BY c.id"
)


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
    """A key that submitted a transaction besides the key of its row: the id of the bundle in which
    its customer sent it, or empty; `is_first` for one key of each customer but the row's.
    """

    key_id: int
    bundle_id: str
    is_first: bool


def others(signatures: Collection[bytes]) -> dict[bytes, list[Other]]:
    """By signature, in the order in which they submitted it."""
    found: dict[bytes, list[Other]] = defaultdict(list)
    if signatures:
        with connection.cursor() as cursor:
            cursor.execute(_OTHERS, [list(signatures)])
            for name, key_id, bundle_id, is_first in cursor.fetchall():
                found[bytes(name)].append(Other(key_id, bundle_id or "", is_first))
    return found


def submissions(signatures: Collection[bytes]) -> list[Submission]:
    """Whosever they are."""
    rows = Submission.objects.filter(signature__in=signatures)
    return list(rows.select_related("bundle"))


def bundle(bundle_id: str) -> Bundle | None:
    """Whosever it is."""
    return Bundle.objects.filter(bundle_id=bundle_id).first()


def signatures_of(bundle_id: str) -> list[bytes]:
    """Of its transactions, in their order."""
    rows = Submission.objects.filter(bundle__bundle_id=bundle_id).order_by("bundle_index")
    return [bytes(signature) for signature in rows.values_list("signature", flat=True)]


def forget_before(moment: datetime) -> None:
    CoSubmitter.objects.filter(accepted_at__lt=moment).delete()
