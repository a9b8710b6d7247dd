"""axe-core on a page of each kind; on every page, in four looks: `make soak`."""

from collections.abc import Callable

from tests.browser.conftest import Watched
from tests.browser.looking import barriers

OUTSIDE = ["/", "/docs/rewind/", "/portal/sign-in/"]
STAFF = [
    "/admin/",
    "/admin/access/apikey/add/",
    "/admin/access/tier/",
    "/admin/rewind/slottally/",
]


def test_pages_have_no_barrier(watched: Callable[[], Watched]) -> None:
    visitor = watched()
    found = {path: opened(visitor, path) for path in OUTSIDE}
    visitor.sign_in()
    found |= {path: opened(visitor, path) for path in STAFF}
    assert not {path: lines for path, lines in found.items() if lines}
    the_keyboard_passes_the_navigation(visitor)


def the_keyboard_passes_the_navigation(visitor: Watched) -> None:
    """The first stop of the Tab key leads to the page's own content, outside the admin."""
    visitor.open("/docs/")
    visitor.page.keyboard.press("Tab")
    focused = "document.activeElement"
    assert visitor.page.evaluate(f"{focused}.textContent").startswith("Skip")
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("Tab")
    assert visitor.page.evaluate(f"{focused}.closest('main') !== null")


def opened(visitor: Watched, path: str) -> list[str]:
    visitor.open(path)
    return barriers(visitor.page)
