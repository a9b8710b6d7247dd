"""Queries on submissions and bundles as their owners see them.

Everyone sees what was accepted without a key; what came with a key is seen with the keys of the
same customer, so that a rotated key sees what its forerunner sent. Sweeps are nobody's.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Prefetch, Q

from access.models import ApiKey
from priority.models import Bundle, Submission

_BATCH = 2_000


def submissions(signatures: Sequence[bytes], key_id: int | None) -> list[Submission]:
    """Those of the signatures that the key's holder sees, each with its bundle."""
    return list(
        Submission.objects.filter(_seen_by(key_id), signature__in=signatures)
        .exclude(kind=Submission.Kind.SWEEP)
        .select_related("bundle")
    )


def submission_with_attempts(signature: bytes, key_id: int | None) -> Submission | None:
    """The one with its bundle and its attempts, if the key's holder sees it."""
    return (
        Submission.objects.filter(_seen_by(key_id), signature=signature)
        .exclude(kind=Submission.Kind.SWEEP)
        .select_related("bundle")
        .prefetch_related("attempts")
        .first()
    )


def newest(key_id: int, *, limit: int, before: int | None) -> list[Submission]:
    """The newest submissions of the key's customer, those below the row `before` alone."""
    found: list[Submission] = []
    # By each key on its own, in the order of its index: together they would be sorted whole.
    for owned in keys_of_the_customer(key_id):
        rows = Submission.objects.filter(key=owned)
        if before is not None:
            rows = rows.filter(id__lt=before)
        found += rows.select_related("bundle").order_by("-id")[:limit]
    return sorted(found, key=lambda row: -row.pk)[:limit]


def bundle_with_attempts(bundle_id: str, key_id: int | None) -> Bundle | None:
    rows = Submission.objects.order_by("bundle_index").prefetch_related("attempts")
    return (
        Bundle.objects.filter(_seen_by(key_id), bundle_id=bundle_id)
        .prefetch_related(Prefetch("submissions", rows))
        .first()
    )


def _seen_by(key_id: int | None) -> Q:
    nobodys = Q(key__isnull=True)
    if key_id is None:
        return nobodys
    holder = ApiKey.objects.filter(pk=key_id).values("customer")
    return nobodys | Q(key__customer__in=holder)


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
    with transaction.atomic():
        # Of both moments: the index has the one, and the other may be much later.
        rows = list(
            Submission.objects.filter(accepted_at__lt=moment, settled_at__lt=moment)
            .order_by("accepted_at")
            .values_list("pk", "bundle")[:_BATCH]
        )
        if not rows:
            return 0
        deleted = Submission.objects.filter(pk__in=[pk for pk, _ in rows]).delete()[1]
        Bundle.objects.filter(
            ~Exists(Submission.objects.filter(bundle=OuterRef("pk"))),
            pk__in={bundle for _, bundle in rows if bundle is not None},
        ).delete()
    return deleted.get("priority.Submission", 0)
