"""Writing the audit log."""

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from columns.advisory_locks import AdvisoryLock, wait_for
from columns.queries import execute
from staff.models import AuditEntry
from webserver.address_groups import read_address


def record(
    request: HttpRequest | None,
    verb: str,
    subject: Any = None,
    *,
    text: str = "",
    changes: Mapping[str, Any] | None = None,
    by: Any = None,
) -> AuditEntry:
    """Adds an entry: what the request's user did (`verb` in the past tense, at most 40 characters)
    to `subject`, a model's instance or a text. `changes` is {field: [before, after]}, without
    secrets. Without a request it was a command on the server; `by` is the user if the request has
    none yet. Call it within the transaction of the change, as late as possible: the next writer
    waits until that transaction ends.
    """
    user: Any = by or getattr(request, "user", None)
    known = user is not None and user.is_authenticated
    who = user.get_username() if known else "command line" if request is None else "nobody"
    entry = AuditEntry(
        at=timezone.now(),
        user_id=user.pk if known else None,
        who=_text(who, 150),
        address=None if request is None else _address(request),
        request_id=_text(getattr(request, "request_id", ""), 100),
        verb=_text(verb, 40),
        subject=_text("" if subject is None else subject, 300),
        text=_text(text),
        changes={_text(name): _pair(value) for name, value in (changes or {}).items()},
    )
    if hasattr(subject, "_meta"):
        entry.subject_type = subject._meta.label_lower
        entry.subject_id = _text(subject.pk, 100)
    with transaction.atomic():
        # Foreign keys would be checked at the end, when this transaction holds the log: it would
        # wait for one that deletes what they name, and that one for the log.
        execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        # One writer at a time: each entry's digest covers the digest of the one before.
        wait_for(AdvisoryLock.AUDIT_LOG)
        before = AuditEntry.objects.order_by("-pk").values_list("digest", flat=True).first()
        entry.digest = digest_of(bytes(before or b""), entry)
        entry.save(force_insert=True)
    if request is not None:
        request.audit_entries = getattr(request, "audit_entries", 0) + 1  # type: ignore[attr-defined]
    return entry


def digest_of(before: bytes, entry: AuditEntry) -> bytes:
    """SHA-256 over the digest of the entry before and the content of this one."""
    at: datetime = entry.at
    content = [
        at.isoformat(),
        entry.user_id,
        entry.who,
        # The database may format an address differently: both are normalized.
        ip_address(entry.address).exploded if entry.address else None,
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


def _address(request: HttpRequest) -> str | None:
    """The client's address behind trusted proxies, else the peer's."""
    given = getattr(request, "client_address", "") or request.META.get("REMOTE_ADDR") or ""
    found = read_address(given.partition("%")[0])
    return None if found is None else str(found)


def _text(value: Any, most: int | None = None) -> str:
    """The value as text that the database can store: without NUL and lone surrogates."""
    text = str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode()[:most]


def _pair(value: Any) -> list[Any]:
    """[before, after]; a single value is the one after."""
    pair = list(value) if isinstance(value, list | tuple) and len(value) == 2 else [None, value]
    return [_settled(part) for part in pair]


def _settled(value: Any) -> Any:
    """The value exactly as a JSON column returns it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        # The database keeps the number, not its notation: 1e+22 would come back as an integer.
        plain = math.isfinite(value) and "e" not in repr(value) and repr(value) != "-0.0"
        return value if plain else str(value)
    if isinstance(value, Mapping):
        return {_text(key): _settled(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_settled(part) for part in value]
    return _text(value)
