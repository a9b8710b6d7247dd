"""Every address of the admin, and a row of every model to try them on."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib import admin
from django.contrib.postgres.fields import ArrayField
from django.db import DatabaseError, models, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature

from columns.keys import PubkeyColumn, SignatureColumn

# What a part of an address is called → something that a page accepts there.
_PARTS = {
    "order": "suspend",
    "order_name": "sign_out",
    "form": "csv",
    "extra": "x",
    "uidb64": "MQ",
    "token": "a-b",
    "app_label": "access",
}
# One's own: for everybody who is signed in.
OWN = {
    "/admin/login/",
    "/admin/login/code/",
    "/admin/login/provider/",
    "/admin/login/provider/callback/",
    "/admin/login/provider/sign-out/",
    "/admin/logout/",
    "/admin/password_change/",
    "/admin/two-factor/",
    "/admin/password/MQ/a-b/",
}


def rows() -> dict[str, str]:
    """A row of every model that the admin shows, made where there is none: its address → its key.
    Models whose rows cannot be made of plain values are left out.
    """
    found = {}
    assert get_resolver().url_patterns  # reading them registers the pages
    for model in admin.site._registry:
        row = model._default_manager.first() or _made(model)
        if row is not None:
            found[f"/admin/{model._meta.app_label}/{model._meta.model_name}/"] = str(row.pk)
    return found


def addresses(keys: dict[str, str]) -> list[str]:
    """Every address below /admin/, with the keys of these rows in it."""
    found = set()
    for route in _routes(get_resolver().url_patterns, "/"):
        if not route.startswith("/admin/"):
            continue
        page = "/".join(route.split("/")[:4]) + "/"
        key = keys.get(page, "1")

        def part(match: re.Match[str], key: str = key) -> str:
            converter, _, name = match[1].rpartition(":")
            return _PARTS.get(name) or (key if converter != "int" or key.isdecimal() else "1")

        found.add(re.sub(r"<([^>]+)>", part, route))
    return sorted(found)


def of_our_own(keys: dict[str, str]) -> list[str]:
    """Those that are lists, or pages of our own making: not Django's forms for a row, and not what
    everybody has of their own.
    """
    known = set(OWN)
    for model in admin.site._registry:
        page = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        row = f"{page}{keys.get(page, '1')}/"
        known |= {f"{page}add/", row, *(row + what for what in ("change/", "delete/", "history/"))}
    return [address for address in addresses(keys) if address not in known]


def without_token(request: HttpRequest, reason: str = "") -> HttpResponse:
    """What a form without its token is answered, in few words."""
    return HttpResponse("no token", status=403)


def _routes(patterns: list[Any], before: str) -> Iterator[str]:
    for pattern in patterns:
        text = str(pattern.pattern)
        if text.startswith("^") or "(?P" in text:
            continue  # Django's lists of apps, and its last resort
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, before + text)
        else:
            yield before + text


def _made(model: Any, depth: int = 0) -> Any:
    values = {}
    for field in model._meta.concrete_fields:
        if field.primary_key and isinstance(field, models.AutoField):
            continue
        if field.has_default() or (field.null and not field.primary_key):
            continue
        values[field.name] = _value(field, depth)
    try:
        with transaction.atomic():
            return model._default_manager.create(**values)
    except (DatabaseError, TypeError, ValueError, AttributeError):
        return None


def _value(field: Any, depth: int) -> Any:
    if isinstance(field, models.ForeignKey):
        other = field.related_model
        first = other._default_manager.first()
        return first or (_made(other, depth + 1) if depth < 3 else None)
    if field.choices:
        return field.choices[0][0]
    plain: tuple[tuple[Any, Any], ...] = (
        (models.BooleanField, False),
        (models.DateTimeField, timezone.now()),
        (models.DateField, timezone.now().date()),
        (models.DurationField, timedelta(0)),
        (ArrayField, []),
        (models.JSONField, {}),
        (models.UUIDField, uuid4()),
        (models.GenericIPAddressField, "192.0.2.1"),
        (PubkeyColumn, Pubkey.default()),
        (SignatureColumn, Signature.default()),
        (models.URLField, "https://example.org/"),
        (models.EmailField, "a@example.org"),
        ((models.IntegerField, models.DecimalField, models.FloatField), 1),
        (models.BinaryField, b"\1" * 32),
    )
    for kind, value in plain:
        if isinstance(field, kind):
            return value
    return "x"
