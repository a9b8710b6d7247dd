"""The admin in a real browser: every page, wide and narrow, light and dark, empty and full."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCREENSHOTS = Path(__file__).resolve().parent / "screenshots"
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
KEYS = "/admin/access/apikey/"
# For whoever wants to look at every page: SCREENSHOTS=1. They take as long as all the rest.
PICTURES_WANTED = os.environ.get("SCREENSHOTS") == "1"

EMPTY_PAGES = {
    "home": "/admin/",
    "customers": "/admin/access/customer/",
    "customer-new": "/admin/access/customer/add/",
    "tiers": "/admin/access/tier/",
    "tier-new": "/admin/access/tier/add/",
    "keys": KEYS,
    "key-new": f"{KEYS}add/",
    "issued-nothing": f"{KEYS}issued/",
    "usage": "/admin/access/usageminute/",
    "blocks": "/admin/historical/block/",
    "imports": "/admin/historical/import/",
    "users": "/admin/auth/user/",
    "audit-log": "/admin/staff/auditentry/",
    "password": "/admin/password_change/",
}

# Elements that stick out of the window, but for those that scroll in a box of their own.
_STICKING_OUT = """() => {
  const wide = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > wide) found.push('the page scrolls sideways');
  for (const element of document.querySelectorAll('#main *')) {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= wide + 1) continue;
    let parent = element.parentElement, scrolls = false;
    for (; parent; parent = parent.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(parent).overflowX)) { scrolls = true; break; }
    }
    if (!scrolls) found.push(element.tagName + '.' + element.className);
  }
  return found.slice(0, 3);
}"""


def full_pages(ids: dict[str, Any]) -> dict[str, str]:
    key, keys = ids["key"], KEYS
    return {
        **EMPTY_PAGES,
        "customer": f"/admin/access/customer/{ids['customer']}/change/",
        "customer-delete": f"/admin/access/customer/{ids['customer']}/delete/",
        "tier": f"/admin/access/tier/{ids['tier']}/change/",
        "key": f"{keys}{key}/change/?span=7d",
        "key-suspended": f"{keys}{ids['suspended']}/change/?span=90d",
        "key-revoked": f"{keys}{ids['revoked']}/change/",
        "key-rotated": f"{keys}{ids['rotated']}/change/?span=30d",
        "key-history": f"{keys}{key}/history/",
        "order-rotate": f"{keys}orders/rotate/?ids={key}",
        "order-revoke": f"{keys}orders/revoke/?ids={key},{ids['suspended']},{ids['revoked']}",
        "keys-expiring": f"{keys}?state=expiring",
        "keys-none-found": f"{keys}?q=nobody",
        "usage-30d": "/admin/access/usageminute/?span=30d",
        "usage-customer": f"/admin/access/usageminute/?customer={ids['customer']}",
        "block": f"/admin/historical/block/{ids['slot']}/change/",
        "import-failed": f"/admin/historical/import/{ids['import']}/change/",
        "user": "/admin/auth/user/",
    }


def look(watched: Any, name: str, path: str, state: str) -> list[str]:
    """Opens the page in every size and colour; what is wrong with it."""
    page = watched.page
    watched.problems.clear()
    wrong = []
    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        watched.open(path)  # the theme asks for the colours when a page begins
        if page.evaluate("document.documentElement.classList.contains('dark')") == (
            colours == "light"
        ):
            wrong.append(f"not {colours}")
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            watched.settle()
            if PICTURES_WANTED:
                file = SCREENSHOTS / state / f"{name}-{size}-{colours}.png"
                page.screenshot(path=file, full_page=True)
            if colours == "light":
                wrong += [f"{size}: {what}" for what in page.evaluate(_STICKING_OUT)]
    return [f"{name}: {what}" for what in [*wrong, *watched.problems]]


def test_every_page_without_data_is_whole_and_quiet(watched: Callable[[], Any]) -> None:
    visitor = watched()
    wrong = look(visitor, "sign-in", "/admin/login/", "empty")
    visitor.sign_in()
    for name, path in EMPTY_PAGES.items():
        wrong += look(visitor, name, path, "empty")
    assert not wrong, "\n".join(wrong)


def test_every_page_with_data_is_whole_and_quiet(watched: Callable[[], Any]) -> None:
    from django.utils import timezone

    from tests.browser.sample_data import fill

    visitor = watched()
    ids = fill(timezone.now())
    visitor.sign_in()
    wrong = []
    for name, path in full_pages(ids).items():
        wrong += look(visitor, name, path, "full")
    assert not wrong, "\n".join(wrong)


def test_issuing_finding_and_rotating_a_key_by_hand(watched: Callable[[], Any]) -> None:
    from django.utils import timezone

    from access import store
    from access.models import ApiKey
    from tests.browser.sample_data import fill

    visitor = watched()
    fill(timezone.now())
    store.customer_by_name("Grace")
    visitor.sign_in()
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    visitor.open(f"{KEYS}add/")
    page.click(".select2-selection")
    page.keyboard.type("Grace")
    page.click(".select2-results__option:has-text('Grace')")
    page.fill("#id_name", "by hand")
    page.select_option("#id_tier", label="basic")
    page.fill("#id_networks", "not a network")
    page.click("button[name=_save]")
    assert "Neither a network nor an address" in page.inner_text("#content")
    page.screenshot(path=SCREENSHOTS / "full" / "key-new-wrong-wide-light.png", full_page=True)
    page.fill("#id_networks", "127.0.0.0/8\n::1")
    page.click("button[name=_save]")

    page.wait_for_url("**/issued/")
    secret = page.inner_text("#secret-1").strip()
    assert re.fullmatch(r"tmk_[0-9A-Za-z]{39}", secret)
    page.click("[data-copy]")
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(_STICKING_OUT) == []
        page.screenshot(path=SCREENSHOTS / "full" / f"issued-{size}.png", full_page=True)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    assert secret not in page.content()

    visitor.open(KEYS)
    visitor.asked.clear()
    page.fill("#searchbar", secret)
    page.press("#searchbar", "Enter")
    page.wait_for_url("**/change/")
    assert not any(secret in url for url in visitor.asked)
    key = ApiKey.objects.get(name="by hand")
    assert page.url.endswith(f"{KEYS}{key.pk}/change/")

    page.click("a:has-text('Rotate')")
    page.fill("#id_overlap_hours", "5")
    page.click("button:has-text('Rotate')")
    page.wait_for_url("**/issued/")
    new = page.inner_text("#secret-1").strip()
    assert new != secret
    visitor.open(KEYS)
    page.click("a:has-text('Filters')")
    page.wait_for_timeout(300)
    page.screenshot(path=SCREENSHOTS / "full" / "keys-filters-wide.png")
    page.keyboard.press("Escape")
    page.click(".field-actions_holder span")
    page.wait_for_timeout(300)
    page.screenshot(path=SCREENSHOTS / "full" / "keys-row-wide.png")
    page.click("#changelist-form tbody input.action-select >> nth=0")
    page.wait_for_timeout(300)
    page.screenshot(path=SCREENSHOTS / "full" / "keys-chosen-wide.png")
    assert visitor.problems == []


def test_a_signed_in_page_that_is_not_there_says_so(watched: Callable[[], Any]) -> None:
    visitor = watched()
    visitor.sign_in()
    visitor.refusals_expected = True
    visitor.open("/admin/access/nothing/")
    assert visitor.page.inner_text("h1") == "Not Found"
    visitor.page.screenshot(path=SCREENSHOTS / "empty" / "not-found.png")
    visitor.open(f"{KEYS}999999/change/")
    assert visitor.page.url.endswith("/admin/")


def test_a_wrong_password_is_told_once(watched: Callable[[], Any]) -> None:
    visitor = watched()
    visitor.open("/admin/login/")
    page = visitor.page
    page.fill("#id_username", "admin")
    page.fill("#id_password", "a wrong one")
    page.click("button[type=submit]")
    page.wait_for_selector("div.errornote")
    assert page.locator(".errornote:visible").count() == 1
    assert "correct username and password" in page.inner_text("div.errornote")
    assert visitor.problems == []


def test_the_front_page_says_what_answers_here(watched: Callable[[], Any]) -> None:
    visitor = watched()
    wrong = []
    for colours in ("light", "dark"):
        visitor.page.emulate_media(color_scheme=colours)
        visitor.open("/")
        for size, (width, height) in SIZES.items():
            visitor.page.set_viewport_size({"width": width, "height": height})
            visitor.page.screenshot(path=SCREENSHOTS / "empty" / f"front-{size}-{colours}.png")
            if visitor.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{size}: scrolls sideways")
    assert [*wrong, *visitor.problems] == []
    assert f"curl {visitor.base}/historical" in visitor.page.inner_text("pre")
    links = visitor.page.eval_on_selector_all("a", "found => found.map(a => a.pathname)")
    assert links == ["/admin/", "/healthz", "/readyz"]
    posted = visitor.page.request.post(f"{visitor.base}/", data={"method": "getSlot"})
    assert posted.status == 200
    assert posted.json()["error"]["data"]["reason"] == "invalid_request"


@pytest.fixture(autouse=True)
def folders() -> None:
    for state in ("empty", "full"):
        (SCREENSHOTS / state).mkdir(parents=True, exist_ok=True)
