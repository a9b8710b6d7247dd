"""Moments and values in templates, said as the pages of the admin say them."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

register = template.Library()

# By name: Django loads this library while the theme, which those pages need, is still loading.
_WORDS = "access.admin.words"


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """3 min ago, with the moment itself as a hint."""
    text: SafeString | str = import_string(f"{_WORDS}.moment")(at, timezone.now())
    return text


@register.filter
def utc(at: datetime) -> str:
    """2026-01-31 14:05:09 UTC"""
    text: str = import_string(f"{_WORDS}.plain")(at, seconds=True)
    return text


@register.filter
def in_words(value: object) -> str:
    """A value of the audit log: yes, no, a list with commas, a number as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(in_words, value)) or "nothing"
    return str(value)
