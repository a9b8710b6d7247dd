"""The shelf of program builds."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from solders.pubkey import Pubkey

from columns.queries import execute
from columns.raw_queries import fetch_all
from rewind.replay.models import ProgramBuild


class Build(NamedTuple):
    """A build without its code."""

    id: int
    program: bytes
    code_key: bytes
    loader: int
    from_slot: int


# Of the accounts $1 in the slot $2.
BUILDS = (
    "SELECT id, program, code_key, loader, from_slot FROM rewind_programbuild"
    " WHERE (program = ANY($1) OR code_key = ANY($1))"
    " AND from_slot <= $2 AND (to_slot IS NULL OR to_slot >= $2)"
)


def builds_at(keys: Sequence[bytes], slot: int) -> list[Build]:
    """The builds that ran in the slot of those of the keys that are programs, or have the code of
    one.
    """
    return [Build(*row) for row in fetch_all(BUILDS, list(keys), slot)]


# A build never changes, and its number is not given again. Each is up to 10 MB.
@lru_cache(maxsize=16)
def code_of(number: int) -> bytes:
    return bytes(ProgramBuild.objects.values_list("code", flat=True).get(pk=number))


def builds_between(program: Pubkey, first: int, last: int | None) -> QuerySet[ProgramBuild]:
    """The program's builds that ran in any of the slots, without their code."""
    found = ProgramBuild.objects.filter(
        Q(to_slot__isnull=True) | Q(to_slot__gte=first), program=program
    )
    return (found if last is None else found.filter(from_slot__lte=last)).defer("code")


def create(**values: Any) -> ProgramBuild:
    return ProgramBuild.objects.create(**values)


def lock() -> None:
    """No other transaction adds a build until this one ends."""
    execute("LOCK TABLE rewind_programbuild IN SHARE ROW EXCLUSIVE MODE")
