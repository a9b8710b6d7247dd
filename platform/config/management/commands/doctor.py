"""manage.py doctor: examines this installation, and reports problems with their solutions."""

import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.doctor.examination import Area, examine
from config.doctor.findings import Level
from staff.formatting import counted

_MARKS = {Level.OK: "ok", Level.NOTE: "note", Level.WARNING: "WARNING", Level.ERROR: "ERROR"}
_WIDTH = 100
_INDENT = " " * 11


class Command(BaseCommand):
    help = (
        "Examine settings, database, Redis, chain, clocks, disk and limits, and report problems"
        " with their solutions. Changes nothing, and shows no secrets. Exits with 1 if there is an"
        " error."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--quiet", action="store_true", help="hide passed checks")

    def handle(self, *args: Any, **options: Any) -> None:
        areas = []
        for area in examine():
            areas.append(area)
            if not options["json"]:
                for line in _lines(area, quiet=options["quiet"]):
                    self.stdout.write(line)
                self.stdout.flush()
        counts = _counts(areas)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(areas, counts), indent=1))
        else:
            self.stdout.write(_summary(counts))
        if counts[Level.ERROR]:
            sys.exit(1)


def _counts(areas: list[Area]) -> dict[Level, int]:
    found = [each.level for area in areas for each in area.findings]
    return {level: found.count(level) for level in Level}


def _summary(counts: dict[Level, int]) -> str:
    parts = [
        counted(counts[level], str(level)) for level in (Level.ERROR, Level.WARNING, Level.NOTE)
    ]
    return f"{', '.join(parts)}."


def _lines(area: Area, *, quiet: bool) -> Iterator[str]:
    shown = [each for each in area.findings if not (quiet and each.level is Level.OK)]
    if not shown:
        return
    yield area.name
    for each in shown:
        yield from textwrap.wrap(
            each.text,
            _WIDTH,
            initial_indent=f"  {_MARKS[each.level]:<9}",
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if each.advice:
            yield from textwrap.wrap(
                f"→ {each.advice}",
                _WIDTH,
                initial_indent=_INDENT,
                subsequent_indent=f"{_INDENT}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    yield ""


def _as_json(areas: list[Area], counts: dict[Level, int]) -> dict[str, Any]:
    return {
        "status": _status(counts),
        "errors": counts[Level.ERROR],
        "warnings": counts[Level.WARNING],
        "notes": counts[Level.NOTE],
        "areas": [
            {
                "name": area.name,
                "findings": [
                    {"level": str(each.level), "text": each.text, "advice": each.advice}
                    for each in area.findings
                ],
            }
            for area in areas
        ],
    }


def _status(counts: dict[Level, int]) -> str:
    return str(next((each for each in (Level.ERROR, Level.WARNING) if counts[each]), Level.OK))
