"""Files to download, sent line by line."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

CSV = "text/csv; charset=utf-8"
# Spreadsheets would run such a cell as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Echo:
    """A file whose `write` returns its argument."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The rows as CSV (RFC 4180)."""
    writer: Any = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def attachment(name: str, lines: Iterable[str], content_type: str = CSV) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
