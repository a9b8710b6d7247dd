"""Moments and values in templates, said as the pages of the admin say them."""

from datetime import datetime

from django import template

from staff import formatting

register = template.Library()
register.filter("ago", formatting.ago)


@register.filter
def utc(at: datetime) -> str:
    """2026-01-31 14:05:09 UTC"""
    return formatting.utc(at, seconds=True)


@register.filter
def in_words(value: object) -> str:
    """A value of the audit log: yes, no, a list with commas, a number as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(in_words, value)) or "nothing"
    return str(value)
