"""Template filters for texts from docstrings."""

import re
from typing import Any

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from reference.highlighting import highlighted
from reference.markdown import Heading, anchor_of

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


@register.filter
def code(text: str, language: str) -> SafeString:
    """The text with its parts in spans, which have colours."""
    return highlighted(str(text), language)


@register.simple_tag(takes_context=True)
def heading(context: Any, title: str, anchor: str = "") -> SafeString:
    """A heading of the second level with a link to itself, which "On this page" lists."""
    anchor = anchor or anchor_of(title)
    context["headings"].append(Heading(2, anchor, title))
    return format_html(
        '<h2 id="{}"><a class="anchor" href="#{}" aria-label="Link to {}"></a>{}</h2>',
        anchor,
        anchor,
        title,
        title,
    )


@register.filter
def holds(link: Any, address: str) -> bool:
    """Whether the sidebar's link, or a page below it, is at the address."""
    return bool(link.holds(address))
