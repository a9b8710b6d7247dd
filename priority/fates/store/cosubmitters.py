"""Other submitters of a transaction or bundle, besides the customer of its row."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import connection, transaction

from access.models import ApiKey
from priority.models import Bundle, CoSubmitter, Submission

# A key that was deleted meanwhile notes nothing.
_NOTE = """
INSERT INTO priority_cosubmitter (name, key_id, accepted_at)
SELECT n.name, k.id, %s FROM unnest(%s::bytea[]) AS n(name), access_apikey k WHERE k.id = %s
ON CONFLICT DO NOTHING
"""


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


def keys_of(signatures: Collection[bytes]) -> dict[bytes, list[int]]:
    """The keys that submitted each besides the key of its row, the first one first."""
    found: dict[bytes, list[int]] = defaultdict(list)
    rows = CoSubmitter.objects.filter(name__in=signatures).order_by("pk")
    for name, key_id in rows.values_list("name", "key_id"):
        found[bytes(name)].append(key_id)
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
