"""How the admin's pages say a moment, a number, a state."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.key_states import KeyState, state_of
from access.models import ApiKey

# Hues that platform/config/static/tidemark/admin.css knows.
_HUES = {
    KeyState.ACTIVE: "good",
    KeyState.EXPIRING: "warning",
    KeyState.SUSPENDED: "warning",
    KeyState.EXPIRED: "quiet",
    KeyState.REVOKED: "bad",
}


def coloured(text: str, hue: str, title: str = "") -> SafeString:
    """A word on a ground of its hue: good, warning, bad or quiet."""
    return format_html('<span class="tm-word tm-{}" title="{}">{}</span>', hue, title, text)


def key_state(key: ApiKey, now: datetime) -> SafeString:
    """The key's state as a coloured word, with its moment as a hint."""
    state = state_of(key, now=now)
    text = str(state)
    if state is KeyState.EXPIRING and key.expires_at is not None:
        text = f"expires in {length(key.expires_at - now)}"
    since = {
        KeyState.REVOKED: key.revoked_at,
        KeyState.SUSPENDED: key.suspended_at,
        KeyState.EXPIRED: key.expires_at,
        KeyState.EXPIRING: key.expires_at,
    }.get(state)
    return coloured(text, _HUES[state], "" if since is None else plain(since))


def plain(moment: datetime, *, seconds: bool = False) -> str:
    """2026-01-31 14:05 UTC"""
    return f"{moment.astimezone(UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}} UTC"


def moment(at: datetime | None, now: datetime, never: str = "never") -> SafeString | str:
    """How long ago or ahead, with the moment itself as a hint."""
    if at is None:
        return never
    text = f"{length(now - at)} ago" if at <= now else f"in {length(at - now)}"
    if abs(now - at) < timedelta(seconds=1):
        text = "now"
    return format_html(
        '<time datetime="{}" title="{}" class="tm-nowrap">{}</time>',
        at.isoformat(),
        plain(at),
        text,
    )


def length(span: timedelta) -> str:
    """The largest whole unit: 3 d, 5 h, 12 min, 40 s."""
    seconds = int(span.total_seconds())
    for unit, size in (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def grouped(number: int | float | None, nothing: str = "-") -> str:
    """1,234,567; what is not told, as `nothing`."""
    return nothing if number is None else f"{number:,}"


def size_of(number: int) -> str:
    """Bytes in the unit that suits them: 1.4 MB."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1_000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} TB"


def short(text: str) -> SafeString:
    """The ends of a long name, the whole of it as a hint."""
    return format_html('<code title="{}">{}…{}</code>', text, text[:8], text[-4:])


def whole(text: Any) -> SafeString:
    return format_html('<code class="tm-break">{}</code>', text)
