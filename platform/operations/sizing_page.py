"""The admin's page *Sizing*: a form of a load, and what it takes."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse

from operations.readings.ratios import Figure, Source
from operations.sizing import Driver, Part, Sizing, SizingRefused, money, signed_money, sizing
from staff.formatting import size_of
from staff.own_pages import OwnPage

_HUES = {
    Source.MEASURED: "good",
    Source.DOCUMENTED: "warning",
    Source.SETTING: "quiet",
    Source.GIVEN: "quiet",
}


def _number(label: str, hint: str, initial: Any = None) -> forms.FloatField:
    shown = "" if initial is None else str(initial)
    widget = forms.TextInput(attrs={"inputmode": "decimal", "placeholder": shown})
    return forms.FloatField(
        label=label, required=False, initial=initial, help_text=hint, widget=widget
    )


class LoadForm(forms.Form):
    """A load. What is left out is as this installation has it."""

    writes_per_second = _number("Account writes a second", "Empty: as measured here")
    transactions_per_second = _number("Transactions a second", "Empty: as many a write as here")
    days = _number("Days kept", "", 365)
    cold_after_days = _number("Object store after days", "Empty: by ARCHIVE_STORE")
    standbys = forms.IntegerField(
        label="Standbys of each machine",
        required=False,
        initial=0,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "placeholder": "0"}),
    )
    machine_disk_tb = _number("Disk of a machine, TB", "", 8)
    machine_memory_gb = _number("Memory of a machine, GB", "", 64)
    machine_cores = _number("Cores of a machine", "", 16)
    machine_price = _number("Price of a machine, a month", "In any currency; empty: no costs")
    store_price = _number("Price of a TB in the store, a month", "In the same currency")

    def asked(self) -> dict[str, Any]:
        """What is given; for a valid form."""
        return {name: value for name, value in self.cleaned_data.items() if value is not None}


def sizing_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """Without a query what this installation's own load takes in a year."""
    form, found, refusal = LoadForm(request.GET or None), None, ""
    if not request.GET or form.is_valid():
        try:
            found = sizing(form.asked() if request.GET else {})
        except SizingRefused as error:
            if request.GET:
                form.add_error(error.field, str(error)[:1].upper() + str(error)[1:])
            else:
                refusal = str(error)[:1].upper() + str(error)[1:]
    context = {"title": "Sizing", "form": form, "refusal": refusal, "found": _shown(found)}
    page: HttpResponse = admin.page(request, "admin/operations/sizing.html", context)
    return page


SIZING = OwnPage("sizing/", "operations_sizing", sizing_page, "rewind.view_sealedsegment")


def _shown(found: Sizing | None) -> dict[str, Any] | None:
    if found is None:
        return None
    made = found.plan
    costs = found.cost
    added = [0.0] * len(found.drivers) if costs is None else costs.drivers
    cores = [(part.title, f"{part.amount:.2f}", part.basis) for part in made.cores]
    return {
        "plan": made,
        "database": size_of(round(made.database_bytes)),
        "store": size_of(round(made.store_bytes)),
        "as_rows": size_of(round(made.as_rows)),
        "share": 100 * (made.database_bytes + made.store_bytes) / made.as_rows,
        "changes": round(made.changes),
        "transactions": round(made.transactions),
        "memory": size_of(round(sum(part.amount for part in made.memory))),
        "cores": f"{sum(part.amount for part in made.cores):.1f}",
        "tables": [
            ("Disk of the database", _parts(made.database)),
            ("Object store", _parts(made.store)),
            ("Memory", _parts(made.memory)),
            ("Processors, without calls", cores),
        ],
        "cost": None if costs is None else money(costs.month),
        "cost_parts": "" if costs is None else costs.basis,
        "drivers": [_driver(each, more) for each, more in zip(found.drivers, added, strict=True)],
        "measured": sum(each.source is Source.MEASURED for each in found.ratios),
        "ratios": len(found.ratios),
        "figures": [_figure(each) for each in (*found.load, *found.ratios)],
    }


def _parts(parts: list[Part]) -> list[tuple[str, str, str]]:
    return [(part.title, size_of(round(part.amount)), part.basis) for part in parts]


def _driver(each: Driver, more: float) -> tuple[str, ...]:
    sizes = _signed(each.database), _signed(each.store)
    return each.title, *sizes, f"{each.machines:+d}", signed_money(more)


def _signed(amount: float) -> str:
    size = size_of(abs(round(amount)))
    return "-" if not round(amount) else f"{'-' if amount < 0 else '+'}{size}"


def _figure(figure: Figure) -> tuple[str, str, str, str, str]:
    return figure.title, figure.text, str(figure.source), _HUES[figure.source], figure.basis
