"""The audit log as a file: CSV for a table, JSON lines for a machine."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from staff.entry_pages import descending
from staff.models import AuditEntry

_COLUMNS = (
    *("id", "at", "who", "address", "verb", "subject_type", "subject_id", "subject"),
    *("text", "changes", "request_id", "digest"),
)


def answer(form: str, entries: QuerySet[AuditEntry], *, now: datetime) -> StreamingHttpResponse:
    """The entries in one of FORMS, streamed, newest first."""
    content_type, lines = FORMS[form]
    response = StreamingHttpResponse(lines(entries), content_type=content_type)
    name = f"audit-log-{now.astimezone(UTC):%Y%m%d-%H%M%S}.{form}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class _Line:
    """What csv writes to: gives the line back."""

    def write(self, line: str) -> str:
        return line


def _csv(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    writer: Any = csv.writer(_Line())
    yield writer.writerow(_COLUMNS)
    for entry in descending(entries):
        said = _said(entry)
        said["changes"] = json.dumps(entry.changes, ensure_ascii=False) if entry.changes else ""
        yield writer.writerow([_cell(said[name]) for name in _COLUMNS])


def _jsonl(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    for entry in descending(entries):
        yield json.dumps(_said(entry), ensure_ascii=False) + "\n"


def _said(entry: AuditEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in _COLUMNS}
    at = entry.at.astimezone(UTC)
    return {**values, "at": at.isoformat(), "digest": bytes(entry.digest).hex()}


def _cell(value: Any) -> str:
    """The value as text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


FORMS = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "jsonl": ("application/jsonl; charset=utf-8", _jsonl),
}
