"""Formatting of states, times, numbers and links on pages of the admin and of the portal."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

# A code of several words, alone or before a colon.
_CODE = re.compile(r"([a-z]+(?:_[a-z]+)+)(?=:|$)")
_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)\b(?: UTC)?")
_LAMPORTS_PER_SOL = 1_000_000_000


def badge(text: object, hue: str, title: str = "") -> SafeString:
    """A label in its hue (good, warning, bad or quiet), with a hint."""
    return format_html('<span class="tm-word tm-{}" title="{}">{}</span>', hue, title, text)


def utc(at: datetime, *, seconds: bool = False) -> str:
    """2026-01-31 14:05 UTC"""
    return f"{at.astimezone(UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}} UTC"


def moment(at: datetime, *, seconds: bool = False) -> SafeString:
    """The same as an element, to which times.js adds the reader's own time."""
    return timed(utc(at, seconds=seconds))


def timed(text: object) -> SafeString:
    """A text whose moments, all of them in UTC, become such elements; HTML stays as it is."""
    if isinstance(text, SafeString):
        return text
    return SafeString(_MOMENT.sub(_as_element, escape(text)))


def _as_element(found: re.Match[str]) -> str:
    return f'<time class="tm-moment" datetime="{found[1]}T{found[2]}Z">{found[0]}</time>'


def ago(at: datetime | None, now: datetime | None = None, never: str = "never") -> SafeString | str:
    """How long ago or ahead of `now` (by default this moment), with the exact time as a hint."""
    if at is None:
        return never
    now = now or timezone.now()
    text = f"{duration(now - at)} ago" if at <= now else f"in {duration(at - now)}"
    if abs(now - at) < timedelta(seconds=1):
        text = "now"
    return format_html(
        '<time datetime="{}" title="{}" class="tm-nowrap">{}</time>', at.isoformat(), utc(at), text
    )


def duration(span: timedelta) -> str:
    """The largest whole unit: 3 d, 5 h, 12 min, 40 s."""
    seconds = int(span.total_seconds())
    for unit, size in (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def milliseconds(value: float) -> str:
    """0.25 ms; 12.3 ms; 240 ms; 12.5 s: three digits that count."""
    if value >= 10_000:
        return f"{value / 1e3:,.1f} s"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 2}f} ms"


def after(seconds: float) -> str:
    """How long after another moment: +2.4 ms, +14.2 s, +12 min."""
    if abs(seconds) < 10:
        return f"{seconds * 1e3:+,.1f} ms"
    return (
        f"{seconds:+,.1f} s" if abs(seconds) < 600 else f"+{duration(timedelta(seconds=seconds))}"
    )


def grouped(number: int | float | None, nothing: str = "-") -> str:
    """1,234,567; `nothing` for None."""
    return nothing if number is None else f"{number:,}"


def counted(number: int, what: str, plural: str = "") -> str:
    """1 batch; 1,234 batches. `plural` if it takes more than an s."""
    return f"{number:,} {what if number == 1 else plural or f'{what}s'}"


def slot_range(first: int | None, last: int | None) -> str:
    """7; 7 to 9; - for None."""
    return "-" if first is None else f"{first}" if first == last else f"{first} to {last}"


def in_units(seconds: int) -> str:
    """An exact time in the largest unit that it is a whole number of, from two minutes on: 90 s,
    15 min, 36 h, 2 d.
    """
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 120 and seconds % size == 0:
            return f"{seconds // size:,} {unit}"
    return f"{seconds:,} s"


def wait_of(seconds: int) -> str:
    """How long to wait, rounded up from two minutes on: 40 s, 11 min, 3 h."""
    for unit, size in (("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{-(-seconds // size):,} {unit}"
    return f"{seconds:,} s"


def sol(amount: int) -> str:
    """Lamports as SOL, exact: 0.001 SOL."""
    whole, rest = divmod(abs(amount), _LAMPORTS_PER_SOL)
    digits = f"{rest:09d}".rstrip("0")
    return f"{'-' if amount < 0 else ''}{whole:,}{'.' if digits else ''}{digits} SOL"


def with_sol(amount: int | None, nothing: str = "-") -> str:
    """In a sentence: 1,000,000 lamports (0.001 SOL); `nothing` for None."""
    return nothing if amount is None else f"{counted(amount, 'lamport')} ({sol(amount)})"


def lamports(amount: int | None, nothing: str = "-", *, signed: bool = False) -> SafeString | str:
    """Under a heading that names the unit: 1,234,567 and beside it 0.001234567 SOL; `nothing` for
    None. `signed`: with its sign.
    """
    if amount is None:
        return nothing
    number = f"{amount:+,}" if signed else f"{amount:,}"
    return format_html('{} <span class="tm-sol">{}</span>', number, sol(amount))


def size_of(number: int) -> str:
    """Bytes in the unit that suits them: 1.4 MB."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1_000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} TB"


def plain(text: str) -> str:
    """A text that begins with a code in words: `not_landed: no block` as “not landed: no block”."""
    found = _CODE.match(text)
    return text if found is None else f"{found[1].replace('_', ' ')}{text[found.end(1) :]}"


def coded(text: str) -> SafeString | str:
    """The same with its code beside it, as callers get it."""
    found = _CODE.match(text)
    if found is None:
        return text
    return format_html('{} <code class="tm-code">{}</code>', plain(text), found[1])


def shortened(value: object) -> SafeString:
    """The ends of a signature, pubkey or blockhash, with the whole of it as a hint."""
    text = str(value)
    return format_html('<code title="{}">{}…{}</code>', text, text[:8], text[-4:])


def in_full(value: object) -> SafeString:
    """A signature, pubkey or blockhash in full; long ones break."""
    return format_html('<code class="tm-break">{}</code>', value)


def link(text: object, page: str, *args: Any, **query: Any) -> SafeString:
    """A link to a page of the admin by its URL's name, as `access_apikey_change`."""
    asked = f"?{urlencode(query)}" if query else ""
    address = reverse(f"admin:{page}", args=args) + asked
    return format_html('<a class="tm-link" href="{}">{}</a>', address, text)


def progress(done: int, total: int, unit: str = "") -> SafeString:
    """A bar, and 3 of 4."""
    text = f"{done:,} of {total:,} {unit}".rstrip()
    return format_html(
        '<span class="tm-progress"><progress max="{}" value="{}">{}%</progress>'
        ' <span class="tm-nowrap">{}</span></span>',
        total,
        done,
        100 * done // max(1, total),
        text,
    )
