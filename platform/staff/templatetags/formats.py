"""staff.formatting in templates: views hand over values, and templates format them."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from staff import formatting, states

register = template.Library()
for _filter in (
    formatting.grouped,
    formatting.lamports,
    formatting.shortened,
    formatting.in_full,
    formatting.duration,
    formatting.milliseconds,
    formatting.size_of,
    formatting.after,
    formatting.wait_of,
    formatting.in_units,
    formatting.with_sol,
    formatting.plain,
    formatting.coded,
    formatting.moment,
    formatting.timed,
):
    register.filter(_filter.__name__, _filter)
register.filter(states.state_badge)
register.simple_tag(formatting.badge)
register.simple_tag(formatting.link, name="page_link")


@register.filter
def ago(at: datetime | None, never: str = "never") -> SafeString | str:
    """How long ago, or how long until; `never` for None."""
    return formatting.ago(at, never=never)


@register.filter
def exact(at: datetime) -> SafeString:
    """2026-01-31 14:05:09 UTC"""
    return formatting.moment(at, seconds=True)


@register.filter
def utc(at: datetime) -> str:
    """The same as plain text, for a hint."""
    return formatting.utc(at, seconds=True)


@register.filter
def counted(number: int, what: str) -> str:
    """1 gap; 3 gaps."""
    return formatting.counted(number, what)


@register.filter
def signed_lamports(amount: int) -> SafeString | str:
    """+1,000,000 and beside it 0.001 SOL."""
    return formatting.lamports(amount, signed=True)


@register.filter
def signed(number: int) -> str:
    """+1,234; -5."""
    return f"{number:+,}"


@register.filter
def slot_range(slots: Any) -> str:
    """A pair of slots as 7 to 9."""
    return formatting.slot_range(*slots)


@register.filter
def of(counts: Mapping[Any, int], key: Any) -> int:
    """The count of the key; 0 without one."""
    return counts.get(key, 0)


@register.filter
def until(start: datetime, end: datetime | None) -> str:
    """How long it lasted, or has lasted by now."""
    return formatting.duration((end or timezone.now()) - start)


@register.filter
def total(counts: Mapping[Any, int]) -> int:
    return sum(counts.values())


@register.filter
def most_common(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """(key, count), the highest count first."""
    return counts.most_common()


@register.simple_block_tag
def table(content: str, *columns: str, look: str = "") -> str:
    """The rows of `content` below their columns, each as "title", or as "title|number" for figures,
    or as "title|number|hint". `look` is slim, wide or pair.
    """
    named = [
        dict(zip(("title", "look", "hint"), each.split("|"), strict=False)) for each in columns
    ]
    context = {"columns": named, "content": content, "look": look}
    return render_to_string("admin/table.html", context)
