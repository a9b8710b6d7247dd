"""Looking at a page in a real browser: wide and narrow, light and dark, with a picture of each kept
in tests/browser/screenshots.
"""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import PASSWORD, SCREENSHOTS, Watched
from tests.browser.everything import EMAIL
from tests.wording import oddities

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
# Every look, and whole pages; else the two that differ most, as much as a window shows.
ALL_PICTURES = os.environ.get("SCREENSHOTS") == "1"
_LOOKS = [("wide", "light"), ("narrow", "dark")]
if ALL_PICTURES:
    _LOOKS += [("narrow", "light"), ("wide", "dark")]
# The same page for every model; one of each is looked at, and all are opened elsewhere
# (tests/config/test_page_queries.py). Files are not looked at.
_ALIKE = re.compile(r"_(history|delete)$|_csv$|_export$|_live$|_discover$")
_STANDARD = re.compile(r"_(changelist|add|change)$")
# Their tables have one unit a column, whatever is in it.
_FIGURES = ("/docs/benchmarks/", "/docs/testing/")
_LOOKED_AT = {"access_customer_history", "access_customer_delete"}

# Elements that stick out of the window, but for those that scroll in a box of their own.
STICKING_OUT = """() => {
  const wide = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > wide) found.push('the page scrolls sideways');
  for (const element of document.querySelectorAll('#main *, main *')) {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= wide + 1 || !element.checkVisibility()) continue;
    let parent = element.parentElement, scrolls = false;
    for (; parent; parent = parent.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(parent).overflowX)) { scrolls = true; break; }
    }
    if (!scrolls) found.push(element.tagName + '.' + element.className);
  }
  return found.slice(0, 3);
}"""


def look(watched: Watched, name: str, path: str, state: str) -> list[str]:
    """Opens the page, and shows it in each size and colour; what is wrong with it. A page that is
    nobody's to read, or takes orders alone, is passed over.
    """
    page, wrong = watched.page, []
    watched.problems.clear()
    page.set_viewport_size(_size("wide"))
    page.emulate_media(color_scheme="light")
    if not _STANDARD.search(name) and not _is_shown(watched, path):
        return []
    if page.goto(watched.base + path, wait_until="load").status == 403:
        return []
    if not page.url.endswith(_FIGURES):
        wrong += oddities(page.content())
    for size, colours in _LOOKS:
        page.set_viewport_size(_size(size))
        page.emulate_media(color_scheme=colours)
        # The theme asks for the colours when a page begins: here it is told.
        page.evaluate(
            "dark => document.documentElement.classList.toggle('dark', dark)", colours == "dark"
        )
        watched.settle()
        wrong += [f"{size}: {what}" for what in page.evaluate(STICKING_OUT)]
        wrong += [f"{size}, {colours}: {what}" for what in barriers(page)]
        file = SCREENSHOTS / state / f"{name}-{size}-{colours}.jpg"
        page.screenshot(path=file, full_page=ALL_PICTURES, type="jpeg", quality=70)
    return [f"{name} ({path}): {what}" for what in [*wrong, *watched.problems]]


def barriers(page: Any) -> list[str]:
    """What axe-core finds on the page that is moderate or worse: a line for each rule."""
    found = Axe().run(page).response["violations"]
    return [
        f"axe {each['id']} ({each['impact']}) x {len(each['nodes'])}: "
        f"{each['nodes'][0]['html'][:160]}"
        for each in found
        if each["impact"] != "minor"
    ]


def _is_shown(watched: Watched, path: str) -> bool:
    answer = watched.page.context.request.get(watched.base + path, max_redirects=0)
    assert answer.status in (200, 302, 403, 405), f"{path}: {answer.status}"
    return answer.status == 200 and "text/html" in answer.headers["content-type"]


def look_at_all(watched: Watched, pages: Iterable[tuple[str, str]], state: str) -> list[str]:
    (SCREENSHOTS / state).mkdir(parents=True, exist_ok=True)
    return [line for name, path in pages for line in look(watched, name, path, state)]


def _size(name: str) -> dict[str, int]:
    width, height = SIZES[name]
    return {"width": width, "height": height}


def chosen(pages: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (name, path)
        for name, path in pages.items()
        if name in _LOOKED_AT or not _ALIKE.search(name)
    ]


def member(watched: Callable[[], Watched], email: str = EMAIL) -> Watched:
    """The browser of the customer's member, signed in."""
    visitor = watched()
    visitor.open("/portal/sign-in/")
    visitor.page.fill("input[type=email]", email)
    visitor.page.fill("input[type=password]", PASSWORD)
    visitor.page.click("main button[type=submit]")
    visitor.page.wait_for_url(visitor.base + "/portal/")
    return visitor
