"""What a form changed, as {field: [before, after]}."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django import forms

# Parts of field names whose values are neither logged nor used in lookups.
SECRET = ("password", "secret", "digest", "token")
_LONGEST = 500


def is_secret(name: str) -> bool:
    return any(part in name for part in SECRET)


def is_address(name: str) -> bool:
    """Is it a URL? Its path, query or user part may hold a secret, so only its host is shown."""
    return name == "url" or name.endswith("_url")


def host_of(url: Any) -> str | None:
    """The part of a URL that is logged."""
    if not url:
        return None
    host = urlsplit(str(url)).netloc.rpartition("@")[2]
    return host or "(an address)"


def of_form(form: Any, *, is_new: bool) -> dict[str, Any]:
    """The changed fields of a form that was saved: choices by label, rows by name."""
    found: dict[str, Any] = {}
    for name in getattr(form, "changed_data", []):
        if name not in form.cleaned_data:
            continue
        if is_secret(name):
            found[name] = ["(secret)", "(secret)"]
            continue
        if is_address(name):
            before = None if is_new else host_of(form.initial.get(name))
            found[name] = [before, host_of(form.cleaned_data[name])]
            continue
        field = form.fields[name]
        before = None if is_new else _shown(field, form.get_initial_for_field(field, name))
        found[name] = [before, _shown(field, form.cleaned_data[name])]
    return found


def between(before: Mapping[str, Any], row: Any) -> dict[str, list[Any]]:
    """What a row's attributes are now, of those that had other values `before`."""
    pairs = {name: [value, getattr(row, name)] for name, value in before.items()}
    return {
        name: [*map(host_of, pair)] if is_address(name) else pair
        for name, pair in pairs.items()
        if pair[0] != pair[1]
    }


def of_formsets(formsets: Iterable[Any]) -> dict[str, Any]:
    """The rows of a page's inline tables that were added, changed or removed."""
    found: dict[str, Any] = {}
    for formset in formsets:
        added = set(map(id, getattr(formset, "new_objects", ())))
        for row, _ in getattr(formset, "changed_objects", ()):
            for form in formset.forms:
                if form.instance is row:
                    found |= _of_row(form, is_new=False)
        for form in formset.forms:
            if id(form.instance) in added:
                found |= _of_row(form, is_new=True)
        for row in getattr(formset, "deleted_objects", ()):
            found[f"{row._meta.verbose_name} {row}"] = [_cut(str(row)), None]
    return found


def of_row(row: Any) -> dict[str, Any]:
    """The values of a row that is deleted."""
    found: dict[str, Any] = {}
    for field in row._meta.concrete_fields:
        value = None if field.attname in row.get_deferred_fields() else field.value_from_object(row)
        if value in (None, "") or isinstance(value, bytes | memoryview) or is_secret(field.name):
            continue
        found[field.name] = [host_of(value) if is_address(field.name) else _plain(value), None]
    return found


def _of_row(form: Any, *, is_new: bool) -> dict[str, Any]:
    name = f"{form.instance._meta.verbose_name} {form.instance}"
    return {f"{name}: {key}": pair for key, pair in of_form(form, is_new=is_new).items()}


def _shown(field: forms.Field, value: Any) -> Any:
    if callable(value):
        value = value()
    if isinstance(field, forms.ModelMultipleChoiceField):
        return sorted(_row(field, part) for part in value or ())
    if isinstance(field, forms.ModelChoiceField):
        return None if value in (None, "") else _row(field, value)
    if isinstance(field, forms.ChoiceField):
        labels = {str(key): str(label) for key, label in _flat(field.choices)}
        if isinstance(value, list | tuple | set):
            return [labels.get(str(part), str(part)) for part in value]
        return None if value in (None, "") else labels.get(str(value), _plain(value))
    return _plain(value)


def _row(field: Any, value: Any) -> str:
    """A row's name, from the row or from the value that the form sends for it."""
    if hasattr(value, "_meta"):
        return str(value)
    key = field.to_field_name or "pk"
    try:
        found = field.queryset.filter(**{key: value}).first()
    except (TypeError, ValueError):
        found = None
    return str(value) if found is None else str(found)


def _flat(choices: Any) -> Iterable[tuple[Any, Any]]:
    for key, label in choices:
        if isinstance(label, list | tuple):
            yield from label
        else:
            yield key, label


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | set):
        return [_plain(part) for part in value]
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
