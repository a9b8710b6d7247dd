"""Queries of kept replays and of the builds that were uploaded for them."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Sum
from solders.pubkey import Pubkey
from solders.signature import Signature

from rewind.replay.models import ProgramBuild, Replay, ReplayBuild


def create(**values: Any) -> Replay:
    return Replay.objects.create(**values)


def listed(customer_id: int | None) -> QuerySet[Replay]:
    """A customer's replays (None: staff's own), newest first, without their results."""
    rows = Replay.objects.filter(customer=customer_id).defer("result", "request")
    return rows.select_related("key").order_by("-made_at", "-pk")


def of_customer(customer_id: int, replay_id: UUID) -> Replay | None:
    """With its result; None for another customer's."""
    rows = Replay.objects.select_related("key", "build").defer("build__code")
    return rows.filter(pk=replay_id, customer=customer_id).first()


def of_signatures(
    signatures: Collection[Signature], customer_id: int | None, *, limit: int
) -> list[Replay]:
    """The newest replays of any of the transactions: of the customer, or for None of all."""
    rows = Replay.objects.filter(signatures__overlap=[bytes(each) for each in signatures])
    if customer_id is not None:
        rows = rows.filter(customer=customer_id)
    return list(rows.defer("result", "request").order_by("-made_at", "-pk")[:limit])


def trim(customer_id: int | None, *, most: int) -> int:
    """Deletes the customer's oldest replays above so many."""
    over = Replay.objects.filter(customer=customer_id).order_by("-made_at", "-pk")
    old = list(over.values_list("pk", flat=True)[most:])
    return Replay.objects.filter(pk__in=old).delete()[0] if old else 0


def delete_before(moment: datetime) -> int:
    return Replay.objects.filter(made_at__lt=moment).delete()[0]


def delete_idle_builds(moment: datetime) -> int:
    """Uploads from before the moment that no replay uses."""
    return ReplayBuild.objects.filter(uploaded_at__lt=moment, replays__isnull=True).delete()[0]


def builds_of(customer_id: int | None) -> QuerySet[ReplayBuild]:
    """The customer's uploads without their code, newest first."""
    return ReplayBuild.objects.filter(customer=customer_id).defer("code")


def stored_bytes(customer_id: int | None) -> int:
    found = ReplayBuild.objects.filter(customer=customer_id).aggregate(total=Sum("size"))
    return int(found["total"] or 0)


def create_build(**values: Any) -> ReplayBuild:
    return ReplayBuild.objects.create(**values)


def uploaded_code(customer_id: int | None, build_id: int) -> bytes | None:
    """The file of one of the customer's uploads."""
    rows = ReplayBuild.objects.filter(pk=build_id, customer=customer_id)
    code = rows.values_list("code", flat=True).first()
    return None if code is None else bytes(code)


def is_on_shelf(build_id: int) -> bool:
    return ProgramBuild.objects.filter(pk=build_id).exists()


def shelf_builds(programs: Collection[Pubkey]) -> QuerySet[ProgramBuild]:
    """The operator's builds of these programs, without their code."""
    rows = ProgramBuild.objects.filter(program__in=list(programs))
    return rows.defer("code").order_by("program", "from_slot")
