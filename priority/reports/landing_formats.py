"""Formats of landing figures."""

from staff.formatting import in_units, milliseconds


def percent(share: float | None) -> str:
    """97.3%; - if unknown."""
    if share is None:
        return "-"
    shown = f"{100 * share:.1f}"
    # Only all of them is 100%.
    return "99.9%" if shown == "100.0" and share < 1 else f"{shown}%"


def microseconds(value: float | str | None) -> str:
    """A time as milliseconds; - if unknown, which is "" in a template."""
    return "-" if value is None or isinstance(value, str) else milliseconds(value / 1e3)


def class_name(name: str) -> str:
    """The name of a class of addresses."""
    return "static addresses" if name == "static" else f"class {in_units(int(name))}"
