"""Entries of the audit log in order of their ids, read in pages."""

from collections.abc import Iterator

from django.db.models import QuerySet

from staff.models import AuditEntry

_PAGE = 2_000


def ascending(entries: QuerySet[AuditEntry], *, most: int | None = None) -> Iterator[AuditEntry]:
    """Oldest first, at most `most`."""
    ordered, after = entries.order_by("pk"), 0
    while most is None or most > 0:
        size = _PAGE if most is None else min(_PAGE, most)
        page = list(ordered.filter(pk__gt=after)[:size])
        yield from page
        if len(page) < size:
            return
        after, most = page[-1].pk, None if most is None else most - size


def descending(entries: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    """Newest first."""
    ordered = entries.order_by("-pk")
    page = list(ordered[:_PAGE])
    while page:
        yield from page
        page = list(ordered.filter(pk__lt=page[-1].pk)[:_PAGE])
