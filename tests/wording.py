"""What is odd about the words of a page: units, plurals, times, and where it says it is."""

import html
import re
from collections.abc import Iterator

_UNSEEN = re.compile(r"<(script|style|svg|pre|code)\b.*?</\1>", re.S)
_TAG = re.compile(r"<[^>]+>")
# Two minutes and more are said in minutes, hours or days.
_SECONDS = re.compile(r"(?<![\w.,:/-])(\d[\d,]*) (?:s|seconds)\b")
_MOST_SECONDS = 120
_ONE_OF_MANY = re.compile(
    r"(?<![\w.,:/-])(?<!ersion )1 (slots|gaps|blocks|calls|keys|submissions|transactions|batches"
    r"|addresses|tips"
    r"|customers|deliveries|attempts|writes|tasks|problems|lamports|landers|results|minutes|changes"
    r"|runs|accounts|alarms|webhooks|rows|classes|kinds|upstreams|seconds|hours|days)\b"
)
# A moment is an element, to which a script adds the reader's own time. A form's choice cannot be,
# nor can those of the clock that Django sets beside a time's field.
_MOMENTS = re.compile(
    r'<(time|option|textarea|title)\b.*?</\1>|<ul class="timelist">.*?</ul>', re.S
)
_BARE_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\b\d{1,2}(?::\d\d)? [ap]\.m\.")
_CRUMB = re.compile(r'class="tm-crumb"[^>]*>(.*?)</')
_ACTIVE = re.compile(r'<a[^>]*class="[^"]*\bactive\b[^"]*"[^>]*>(.*?)</a>', re.S)
_ICON = re.compile(r"<span[^>]*material-symbols[^>]*>.*?</span>", re.S)


def oddities(page: str) -> Iterator[str]:
    """One line for each of a page's odd words."""
    seen = _UNSEEN.sub(" ", page)
    words = _words(seen)
    for found in _SECONDS.finditer(words):
        if int(found[1].replace(",", "")) >= _MOST_SECONDS:
            yield f"“{found[0]}”: staff.formatting.in_units or duration says it in its unit"
    for found in _ONE_OF_MANY.finditer(words):
        yield f"“{found[0]}”: staff.formatting.counted knows the singular"
    for found in _BARE_MOMENT.finditer(_words(_MOMENTS.sub(" ", seen))):
        yield f"“{found[0]}”: staff.formatting.moment or timed makes it an element"
    yield from _elsewhere(page)


def _words(page: str) -> str:
    return html.unescape(" ".join(_TAG.sub(" ", page).split()))


def _elsewhere(page: str) -> Iterator[str]:
    """The breadcrumbs of the admin name the page as its sidebar does."""
    crumbs = [html.unescape(each).strip() for each in _CRUMB.findall(page)]
    active = [
        html.unescape(_TAG.sub("", _ICON.sub("", each))).strip() for each in _ACTIVE.findall(page)
    ]
    for name in active:
        if crumbs and name != "Home" and name not in crumbs:
            yield f"the sidebar says {name}, the breadcrumbs {crumbs}"
