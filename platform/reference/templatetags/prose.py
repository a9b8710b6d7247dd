"""Template filters for texts from docstrings."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CODE = re.compile(r"`([^`]+)`")


@register.filter
def prose(text: str) -> SafeString:
    """The text with backticks as <code>."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", str(escape(text))))


@register.filter
def sentence(text: str) -> str:
    """The text with a capital first letter and a full stop."""
    if not text:
        return ""
    first = text if text[:1] == "`" else text[:1].upper() + text[1:]
    return first if first[-1] in ".!?" else f"{first}."
