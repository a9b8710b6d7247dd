"""Verifying the audit log: each entry's digest covers the one before."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from staff.audit import digest_of
from staff.entry_pages import ascending
from staff.models import AuditCheck, AuditEntry

_log = logging.getLogger(__name__)

# Between two full checks only new entries are checked.
_WHOLE_EVERY = timedelta(days=1)
# Entries of one check, which take some seconds.
_STEP = 100_000


@dataclass(frozen=True, slots=True)
class Walk:
    """How far a check came. `problem` describes the first break, or is empty."""

    entries: int
    entry_id: int
    digest: bytes
    problem: str = ""


def walk(after_id: int = 0, digest: bytes = b"", *, most: int | None = None) -> Walk:
    """Checks the entries after the one with this id and digest, at most `most`, up to the first
    break.
    """
    if after_id:
        there = AuditEntry.objects.filter(pk=after_id).values_list("digest", flat=True).first()
        if there is None or bytes(there) != digest:
            text = "deleted" if there is None else "changed"
            return Walk(0, after_id, digest, f"Entry {after_id} was {text} since the last check")
    entries = 0
    # The deferred user would be one query an entry; only its id is in the digest.
    following = AuditEntry.objects.filter(pk__gt=after_id)
    for entry in ascending(following, most=most):
        found = digest_of(digest, entry)
        if found != bytes(entry.digest):
            before = f"entry {after_id}" if after_id else "the beginning"
            problem = f"Entry {entry.pk} does not follow {before}: one of them was changed, or"
            return Walk(entries, after_id, digest, f"{problem} entries between them were deleted")
        entries, after_id, digest = entries + 1, entry.pk, found
    return Walk(entries, after_id, digest)


def check(now: datetime, *, most: int = _STEP) -> AuditCheck:
    """Checks the new entries, and the next part of the full check, which begins once a day. Keeps
    the result for the page of the log. A break is reported until a full check finds none.
    """
    with transaction.atomic():
        AuditCheck.objects.get_or_create(pk=1)
        kept = AuditCheck.objects.select_for_update().get(pk=1)
        problem = _check_new(kept, most) or _check_part(kept, now, most)
        if problem:
            if not kept.problem:
                _log.error("The audit log is broken: %s", problem)
            kept.problem, kept.round_id, kept.round_digest = problem[:300], 0, b""
        kept.looked_at = now
        kept.save()
    return kept


def _check_new(kept: AuditCheck, most: int) -> str:
    found = walk(kept.entry_id, bytes(kept.digest), most=most)
    if not found.problem:
        kept.entry_id, kept.digest = found.entry_id, found.digest
    return found.problem


def _check_part(kept: AuditCheck, now: datetime, most: int) -> str:
    is_due = kept.whole_at is None or now - kept.whole_at >= _WHOLE_EVERY or kept.problem
    if not kept.round_id and not is_due:
        return ""
    found = walk(kept.round_id, bytes(kept.round_digest), most=most)
    if found.problem:
        return found.problem
    if found.entries < most:
        kept.whole_at, kept.whole_to, kept.problem = now, found.entry_id, ""
        kept.round_id, kept.round_digest = 0, b""
    else:
        kept.round_id, kept.round_digest = found.entry_id, found.digest
    return ""


def last_check() -> AuditCheck | None:
    """The result of the last check."""
    return AuditCheck.objects.filter(looked_at__isnull=False).first()
