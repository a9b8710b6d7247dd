"""The audit log as a file: CSV for a table, JSON lines for a machine."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from staff.entry_pages import descending
from staff.files import CSV, attachment, csv_lines
from staff.models import AuditEntry

_COLUMNS = (
    "id",
    "at",
    "who",
    "address",
    "verb",
    "subject_type",
    "subject_id",
    "subject",
    "text",
    "changes",
    "request_id",
    "digest",
)


def answer(form: str, entries: QuerySet[AuditEntry], *, now: datetime) -> StreamingHttpResponse:
    """The entries in one of FORMS, streamed, newest first."""
    content_type, lines = FORMS[form]
    name = f"audit-log-{now.astimezone(UTC):%Y%m%d-%H%M%S}.{form}"
    return attachment(name, lines(entries), content_type)


def _csv(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    def rows() -> Iterator[list[Any]]:
        yield list(_COLUMNS)
        for entry in descending(entries):
            values = _values(entry)
            changes = values["changes"]
            values["changes"] = json.dumps(changes, ensure_ascii=False) if changes else ""
            yield [values[name] for name in _COLUMNS]

    return csv_lines(rows())


def _jsonl(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    for entry in descending(entries):
        yield json.dumps(_values(entry), ensure_ascii=False) + "\n"


def _values(entry: AuditEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in _COLUMNS}
    at = entry.at.astimezone(UTC)
    return {**values, "at": at.isoformat(), "digest": bytes(entry.digest).hex()}


FORMS = {
    "csv": (CSV, _csv),
    "jsonl": ("application/jsonl; charset=utf-8", _jsonl),
}
