"""Whether the audit log is whole: each entry's digest stands on the one before."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from staff.audit import digest_of
from staff.entry_pages import ascending
from staff.models import AuditCheck, AuditEntry

_log = logging.getLogger(__name__)

# Between them only what came new is looked at.
_WHOLE_EVERY = timedelta(days=1)
# Entries that one check looks at: some seconds, however long the log is.
_STEP = 100_000


@dataclass(frozen=True, slots=True)
class Looked:
    """How far a walk came. `problem` is the first break, in words, or empty."""

    entries: int
    entry_id: int
    digest: bytes
    problem: str = ""


def walk(after_id: int = 0, digest: bytes = b"", *, most: int | None = None) -> Looked:
    """Looks at the entries after the one with this id and digest, all of them or so many, up to the
    first break.
    """
    if after_id:
        there = AuditEntry.objects.filter(pk=after_id).values_list("digest", flat=True).first()
        if there is None or bytes(there) != digest:
            text = "gone" if there is None else "another one now"
            return Looked(0, after_id, digest, f"Entry {after_id}, which was here, is {text}")
    entries = 0
    # The deferred user would be one query an entry; only its id is in the digest.
    following = AuditEntry.objects.filter(pk__gt=after_id)
    for entry in ascending(following, most=most):
        found = digest_of(digest, entry)
        if found != bytes(entry.digest):
            before = f"entry {after_id}" if after_id else "the beginning"
            problem = f"Entry {entry.pk} does not follow on {before}: one of them was changed, or"
            return Looked(entries, after_id, digest, f"{problem} what stood between is gone")
        entries, after_id, digest = entries + 1, entry.pk, found
    return Looked(entries, after_id, digest)


def check(now: datetime, *, most: int = _STEP) -> AuditCheck:
    """Looks at what came since the last time, and goes on with the round, which begins once a day;
    keeps what was found for the page of the log. A break stays told until a round finds none.
    """
    with transaction.atomic():
        AuditCheck.objects.get_or_create(pk=1)
        kept = AuditCheck.objects.select_for_update().get(pk=1)
        problem = _look_at_new(kept, most) or _go_round(kept, now, most)
        if problem:
            if not kept.problem:
                _log.error("The audit log is broken: %s", problem)
            kept.problem, kept.round_id, kept.round_digest = problem[:300], 0, b""
        kept.looked_at = now
        kept.save()
    return kept


def _look_at_new(kept: AuditCheck, most: int) -> str:
    looked = walk(kept.entry_id, bytes(kept.digest), most=most)
    if not looked.problem:
        kept.entry_id, kept.digest = looked.entry_id, looked.digest
    return looked.problem


def _go_round(kept: AuditCheck, now: datetime, most: int) -> str:
    is_due = kept.whole_at is None or now - kept.whole_at >= _WHOLE_EVERY or kept.problem
    if not kept.round_id and not is_due:
        return ""
    looked = walk(kept.round_id, bytes(kept.round_digest), most=most)
    if looked.problem:
        return looked.problem
    if looked.entries < most:
        kept.whole_at, kept.whole_to, kept.problem = now, looked.entry_id, ""
        kept.round_id, kept.round_digest = 0, b""
    else:
        kept.round_id, kept.round_digest = looked.entry_id, looked.digest
    return ""


def last_check() -> AuditCheck | None:
    """What `check` found the last time."""
    return AuditCheck.objects.filter(looked_at__isnull=False).first()
