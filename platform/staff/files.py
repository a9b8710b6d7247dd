"""Files to download, sent line by line."""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

CSV = "text/csv; charset=utf-8"
# Where a spreadsheet may begin a formula (OWASP, "CSV Injection"): at the beginning of a cell. A
# spreadsheet that separates cells by semicolons or tabs ignores quotes within a line, and a cell
# begins after each of these. An apostrophe of the text itself gets another one: one can be removed.
_FORMULA = re.compile(r"\A(?=[\t\r\n])|(?:\A|(?<=[;\t\r\n]))(?=[=+\-@\uff1d\uff0b\uff0d\uff20'])")


class _Echo:
    """A file whose `write` returns its argument."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The rows as CSV (RFC 4180). In texts an apostrophe stands before what would begin a formula;
    numbers stay as they are (docs/clients.md).
    """
    writer: Any = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def attachment(name: str, lines: Iterable[str], content_type: str = CSV) -> StreamingHttpResponse:
    response = StreamingHttpResponse(lines, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _cell(value: Any) -> Any:
    return _FORMULA.sub("'", value) if isinstance(value, str) else value
