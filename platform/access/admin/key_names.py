"""The name of a row's key, for lists of other areas."""

from typing import Any

from django.db.models import CharField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.models import ApiKey


def with_key_names(queryset: QuerySet[Any]) -> QuerySet[Any]:
    """Each row with `key_name`, as its key is shown in lists."""
    named = ApiKey.objects.filter(pk=OuterRef("key_id")).annotate(
        shown=Concat(
            "name",
            Value(" ("),
            "shown_prefix",
            Value("…"),
            "last_four",
            Value(")"),
            output_field=CharField(),
        )
    )
    found: QuerySet[Any] = queryset.annotate(key_name=Subquery(named.values("shown")[:1]))
    return found


def key_link(row: Any) -> SafeString | str:
    """A link to the key of the row."""
    if row.key_id is None:
        return "-"
    if row.key_name is None:
        return f"deleted key {row.key_id}"
    link = reverse("admin:access_apikey_change", args=[row.key_id])
    return format_html('<a class="tm-link" href="{}">{}</a>', link, row.key_name)
