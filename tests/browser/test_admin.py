"""Keys, sign-in and the front page in a real browser, by hand."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.browser.looking import SIZES, STICKING_OUT

KEYS = "/admin/access/apikey/"


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
        assert page.evaluate(STICKING_OUT) == []
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


@pytest.mark.soak
def test_a_signed_in_page_that_is_not_there_says_so(watched: Callable[[], Any]) -> None:
    visitor = watched()
    visitor.sign_in()
    visitor.refusals_expected = True
    visitor.open("/admin/access/nothing/")
    assert visitor.page.inner_text("h1") == "Not Found"
    visitor.page.screenshot(path=SCREENSHOTS / "empty" / "not-found.png")
    visitor.open(f"{KEYS}999999/change/")
    assert visitor.page.url.endswith("/admin/")


@pytest.mark.soak
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


@pytest.mark.soak
def test_a_post_to_the_front_page_is_a_call(watched: Callable[[], Any]) -> None:
    visitor = watched()
    visitor.open("/")
    posted = visitor.page.request.post(f"{visitor.base}/", data={"method": "getSlot"})
    assert posted.status == 200
    assert posted.json()["error"]["data"]["reason"] == "invalid_request"
    assert visitor.problems == []


@pytest.fixture(autouse=True)
def folders() -> None:
    for state in ("empty", "full"):
        (SCREENSHOTS / state).mkdir(parents=True, exist_ok=True)
