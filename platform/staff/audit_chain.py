"""Whether the audit log is whole: each entry's digest stands on the one before."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from staff.audit import digest_of
from staff.models import AuditCheck, AuditEntry

_log = logging.getLogger(__name__)

# Between them only what came new is looked at.
_WHOLE_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Looked:
    """How far a walk came. `problem` is the first break, in words, or empty."""

    entries: int
    entry_id: int
    digest: bytes
    problem: str = ""


def walk(after_id: int = 0, digest: bytes = b"") -> Looked:
    """Looks at every entry after the one with this id and digest, up to the first break."""
    if after_id:
        there = AuditEntry.objects.filter(pk=after_id).values_list("digest", flat=True).first()
        if there is None or bytes(there) != digest:
            text = "gone" if there is None else "another one now"
            return Looked(0, after_id, digest, f"Entry {after_id}, which was here, is {text}")
    entries = 0
    # The deferred user would be one query an entry; only its id is in the digest.
    for entry in AuditEntry.objects.filter(pk__gt=after_id).order_by("pk").iterator(2_000):
        found = digest_of(digest, entry)
        if found != bytes(entry.digest):
            before = f"entry {after_id}" if after_id else "the beginning"
            problem = f"Entry {entry.pk} does not follow on {before}: one of them was changed, or"
            return Looked(entries, after_id, digest, f"{problem} what stood between is gone")
        entries, after_id, digest = entries + 1, entry.pk, found
    return Looked(entries, after_id, digest)


def check(now: datetime) -> AuditCheck:
    """Looks at what came since the last time, and once a day at everything; keeps what was found
    for the page of the log.
    """
    with transaction.atomic():
        AuditCheck.objects.get_or_create(pk=1)
        kept = AuditCheck.objects.select_for_update().get(pk=1)
        looked = walk(kept.entry_id, bytes(kept.digest))
        is_due = kept.whole_at is None or now - kept.whole_at >= _WHOLE_EVERY or kept.problem
        if not looked.problem and is_due:
            looked = walk()
            if not looked.problem:
                kept.whole_at, kept.whole_to = now, looked.entry_id
        if looked.problem and not kept.problem:
            _log.error("The audit log is broken: %s", looked.problem)
        if not looked.problem:
            kept.entry_id, kept.digest = looked.entry_id, looked.digest
        kept.problem, kept.looked_at = looked.problem, now
        kept.save()
    return kept


def last_check() -> AuditCheck | None:
    """What `check` found the last time."""
    return AuditCheck.objects.filter(looked_at__isnull=False).first()
