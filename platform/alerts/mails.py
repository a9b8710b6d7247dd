"""The subject and text of a mail with one or more events."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse

from alerts.kinds import KINDS, Audience
from alerts.models import Event
from chain.shown_text import visible
from staff.formatting import utc

_LONGEST_SUBJECT = 150


def compose(events: Sequence[Event]) -> tuple[str, str]:
    """Subject and text. All events are of one recipient: a customer, or the staff."""
    customer = events[0].customer_id is not None
    context = {
        "events": [_shown(event) for event in events],
        "settings_link": _address("portal:webhooks", "/portal/") if customer else "",
        "public_url": settings.PUBLIC_URL,
    }
    text = render_to_string("alerts/mail.txt", context)
    return _subject(events), text.strip() + "\n"


def _subject(events: Sequence[Event]) -> str:
    """The title of the most severe event: an opened alarm comes before a closed one."""
    first = min(events, key=lambda event: event.kind == "alarm.closed")
    more = len(events) - 1
    rest = f" (and {more} more)" if more else ""
    # A line break in a name must not begin another header.
    title = _line(f"{KINDS[first.kind].title}: {first.about}")
    most = _LONGEST_SUBJECT - len(rest)
    return (title if len(title) <= most else title[: most - 1] + "…") + rest


def _shown(event: Event) -> dict[str, Any]:
    return {
        "title": KINDS[event.kind].title,
        "about": _line(event.about),
        "text": _line(event.text),
        "at": utc(event.at, seconds=True),
        "link": _link(event),
        "runbook": event.data.get("runbookUrl", ""),
    }


def _line(text: str) -> str:
    """Names and what servers answered: on one line, with characters that are not seen shown."""
    return visible(" ".join(text.split()))


def _link(event: Event) -> str:
    kind, staff = KINDS[event.kind], event.customer_id is None
    page, member = kind.page
    if staff and kind.audience is Audience.CUSTOMER:
        # Of the kinds for customers the staff gets only those about its own webhooks.
        page = "admin:alerts_webhook_change"
    number = event.data.get(member)
    above = "/admin/" if staff else "/portal/"
    return _address(page, above, number) if number is not None else settings.PUBLIC_URL + above


def _address(page: str, otherwise: str, *arguments: Any) -> str:
    """The page's full URL; that of the section if this installation has no such page."""
    try:
        path = reverse(page, args=arguments)
    except NoReverseMatch:
        path = otherwise
    return settings.PUBLIC_URL + path
