"""Writing down what staff did."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone

from staff.models import AuditEntry

# One writer at a time: each entry stands on the digest of the one before.
_LOCK = 7_340_210


def record(
    request: HttpRequest | None,
    verb: str,
    subject: Any = None,
    *,
    text: str = "",
    changes: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Adds an entry: what the request's user did (`verb` in the past tense, at most 40 characters)
    to `subject`, a model's instance or a text. `changes` is {field: [before, after]}, without
    secrets. Without a request it was a command of the server's. Call it within the transaction of
    the change: both are there, or neither.
    """
    user: Any = getattr(request, "user", None)
    known = user is not None and user.is_authenticated
    who = user.get_username() if known else "command line" if request is None else "nobody"
    meta = {} if request is None else request.META
    entry = AuditEntry(
        at=timezone.now(),
        user_id=user.pk if known else None,
        who=who[:150],
        address=_address(meta),
        request_id=getattr(request, "request_id", "")[:100],
        verb=verb[:40],
        subject=str(subject or "")[:300],
        text=text,
        changes=json.loads(json.dumps(dict(changes or {}), default=str)),
    )
    if hasattr(subject, "_meta"):
        entry.subject_type, entry.subject_id = subject._meta.label_lower, str(subject.pk)[:100]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        before = AuditEntry.objects.order_by("-pk").values_list("digest", flat=True).first()
        entry.digest = digest_of(bytes(before or b""), entry)
        entry.save(force_insert=True)
    if request is not None:
        request.audit_entries = getattr(request, "audit_entries", 0) + 1  # type: ignore[attr-defined]
    return entry


def digest_of(before: bytes, entry: AuditEntry) -> bytes:
    """SHA-256 over the digest of the entry before and all that this one says."""
    at: datetime = entry.at
    content = [
        at.isoformat(),
        entry.user_id,
        entry.who,
        entry.address,
        entry.request_id,
        entry.verb,
        entry.subject_type,
        entry.subject_id,
        entry.subject,
        entry.text,
        entry.changes,
    ]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(before + text.encode()).digest()


def _address(meta: Mapping[str, Any]) -> str | None:
    return meta.get("REMOTE_ADDR") or None
