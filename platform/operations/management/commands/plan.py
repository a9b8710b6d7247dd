"""manage.py plan: disk, memory and machines for a load."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from operations.readings.ratios import Figure
from operations.sizing import Part, Sizing, SizingRefused, money, signed_money, sizing
from staff.formatting import counted, size_of

# Name, type, meaning. What is left out is as this installation has it.
_OPTIONS: tuple[tuple[str, type, str], ...] = (
    ("writes-per-second", float, "account writes that are archived; measured by default"),
    (
        "transactions-per-second",
        float,
        "transactions that are stored; by default as many for each write as here",
    ),
    ("days", float, "how long they are kept, 365 by default"),
    ("cold-after-days", float, "when sealed segments move to the object store"),
    ("standbys", int, "standbys of each machine, 0 by default"),
    ("machine-disk-tb", float, "the disk of one machine, 8 by default"),
    ("machine-memory-gb", float, "the memory of one machine, 64 by default"),
    ("machine-cores", float, "the cores of one machine, 16 by default"),
    ("machine-price", float, "what a machine costs a month, in any currency; costs are shown then"),
    ("store-price", float, "what a terabyte in the object store costs a month, in the same"),
)


class Command(BaseCommand):
    help = (
        "Say how much disk, memory and how many machines a load takes, from what this database has"
        " measured of itself; where too little is stored, from docs/benchmarks.md. Changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        for name, kind, meaning in _OPTIONS:
            parser.add_argument(f"--{name}", type=kind, help=meaning, metavar="N")
        parser.add_argument("--no-store", action="store_true", help="without an object store")
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        names = [name.replace("-", "_") for name, _, _ in _OPTIONS]
        asked = {name: options[name] for name in names if options[name] is not None}
        try:
            found = sizing(asked, no_store=options["no_store"])
        except SizingRefused as refusal:
            option = refusal.field.replace("_", "-")
            raise CommandError(f"--{option}: {refusal}") from refusal
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(found), indent=1))
        else:
            for line in _lines(found):
                self.stdout.write(line)


def _lines(found: Sizing) -> Iterator[str]:
    made = found.plan
    machines = counted(made.machines_with_standbys, "machine")
    if made.load.standbys:
        machines += f" ({made.machines} and {counted(made.load.standbys, 'standby')} of each)"
    yield (
        f"{machines}: {size_of(round(made.database_bytes))} of database,"
        f" {size_of(round(made.store_bytes))} in the object store."
    )
    yield (
        f"{made.changes:,.0f} account changes and {made.transactions:,.0f} transactions; as rows"
        f" they would take {size_of(round(made.as_rows))}."
    )
    if found.cost is not None:
        yield f"{money(found.cost.month)} a month: {found.cost.basis}."
    for warning in made.warnings:
        yield f"Warning: {warning}"
    yield from _parts("Disk of the database", made.database, _bytes)
    yield from _parts("Object store", made.store, _bytes)
    yield from _parts("Memory", made.memory, _bytes)
    yield from _parts("Processors, without calls", made.cores, _cores)
    yield from _table(
        "Machines",
        [(need.resource, counted(need.machines, "machine"), need.basis) for need in made.needs],
    )
    yield from _table("What it costs more", list(_drivers(found)))
    yield from _table("Computed from", [_figure(each) for each in (*found.load, *found.ratios)])


def _drivers(found: Sizing) -> Iterator[tuple[str, str, str]]:
    for number, each in enumerate(found.drivers):
        basis = f"object store {_signed(each.store)}, machines {each.machines:+d}"
        if found.cost is not None:
            basis += f", a month {signed_money(found.cost.drivers[number])}"
        yield each.title, _signed(each.database), basis


def _figure(figure: Figure) -> tuple[str, str, str]:
    basis = f"{figure.source}: {figure.basis}" if figure.basis else str(figure.source)
    return figure.title, figure.text, basis


def _bytes(amount: float) -> str:
    return size_of(round(amount))


def _cores(amount: float) -> str:
    return f"{amount:.2f}"


def _signed(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'}{size_of(abs(round(amount)))}"


def _parts(title: str, parts: Iterable[Part], show: Any) -> Iterator[str]:
    shown = [(part.title, show(part.amount), part.basis) for part in parts]
    return _table(title, shown)


def _table(title: str, rows: list[tuple[str, str, str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield title
    wide, figures = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, figure, basis in rows:
        yield f"  {name:<{wide}}  {figure:>{figures}}  {basis}".rstrip()


def _as_json(found: Sizing) -> dict[str, Any]:
    """The plan as one JSON object: bytes, cores, costs a month, and each figure with its source."""
    made, costs = found.plan, found.cost
    added = [None] * len(found.drivers) if costs is None else costs.drivers
    return {
        "machines": made.machines,
        "machinesWithStandbys": made.machines_with_standbys,
        "databaseBytes": round(made.database_bytes),
        "objectStoreBytes": round(made.store_bytes),
        "asRowsBytes": round(made.as_rows),
        "memoryBytes": round(sum(part.amount for part in made.memory)),
        "cores": round(sum(part.amount for part in made.cores), 3),
        "changes": round(made.changes),
        "transactions": round(made.transactions),
        "database": [_json_part(part) for part in made.database],
        "objectStore": [_json_part(part) for part in made.store],
        "memory": [_json_part(part) for part in made.memory],
        "processors": [
            {"title": part.title, "cores": round(part.amount, 3), "basis": part.basis}
            for part in made.cores
        ],
        "needs": [need._asdict() for need in made.needs],
        "drivers": [
            {
                "title": each.title,
                "databaseBytes": round(each.database),
                "objectStoreBytes": round(each.store),
                "machines": each.machines,
                "costAMonth": None if more is None else round(more, 2),
            }
            for each, more in zip(found.drivers, added, strict=True)
        ],
        "costAMonth": None if costs is None else round(costs.month, 2),
        "figures": [
            asdict(figure) | {"source": figure.source.value}
            for figure in (*found.load, *found.ratios)
        ],
        "warnings": made.warnings,
    }


def _json_part(part: Part) -> dict[str, Any]:
    return {"title": part.title, "bytes": round(part.amount), "basis": part.basis}
