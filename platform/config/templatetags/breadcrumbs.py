"""Where a page of the admin is, in the words of the sidebar."""

from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from config.staff_pages.sidebar import here

register = template.Library()


class Crumb(NamedTuple):
    """A step of the way to the page; without an address where it is no page, or this one."""

    title: str
    address: str = ""


@register.simple_tag(takes_context=True)
def breadcrumbs(context: template.Context) -> list[Crumb]:
    """Heading and link of the sidebar, the row, and the page, where it is more than these."""
    request: HttpRequest = context["request"]
    title = str(context.get("title") or "")
    group, link = here(request)
    if link is None or not group:
        return [Crumb(title or "Home")]
    found = [Crumb(group), Crumb(link["title"], link["link"])]
    row = _row(context)
    if row is not None:
        found.append(Crumb(str(context.get("crumb") or row), _address(row)))
    if (own := _own(request, title, row)) and own != link["title"]:
        found.append(Crumb(own))
    return found


def _row(context: template.Context) -> Any:
    """The row that the page is about."""
    for name in ("original", "object"):
        if (found := context.get(name)) is not None and hasattr(found, "_meta"):
            return found
    return None


def _address(row: Any) -> str:
    meta = row._meta
    try:
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return ""


def _own(request: HttpRequest, title: str, row: Any) -> str:
    """What the page is besides its list or its row; empty for those."""
    last = request.path.rstrip("/").rpartition("/")[2]
    if row is not None:
        return {"history": "History", "delete": "Delete"}.get(last, "")
    is_list = request.resolver_match is not None and (
        str(request.resolver_match.url_name).endswith("_changelist")
    )
    return "" if is_list else title
