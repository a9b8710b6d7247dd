"""The console on the pages of the reference, in a browser: what it sends, and what it keeps."""

from collections.abc import Callable

import pytest

from access.models import Tier
from access.services.keys import issue_key
from access.store import customer_by_name

from .conftest import Watched

pytestmark = pytest.mark.soak

U64_MAX = 2**64 - 1


def test_a_call_is_sent_as_it_was_written_and_the_key_stays_in_the_tab(
    watched: Callable[[], Watched],
) -> None:
    tier = Tier.objects.create(name="tried", rank=10, requests_per_second=None)
    secret = issue_key(customer_by_name("Ada"), tier=tier, name="tried").secret
    browser = watched()
    page = browser.page

    def outcome(form: str) -> str:
        page.wait_for_selector(f"{form} .outcome:not([hidden])")
        found: str = page.locator(f"{form} .outcome").inner_text()
        return found

    browser.open("/docs/historical/getBlockTime/")
    form = "form.try"
    page.fill(f"{form} textarea", f"[{U64_MAX}]")
    page.click(f"{form} button[type=submit]")
    # Without a key, of an empty ledger; and with every digit.
    told = outcome(form)
    assert "HTTP 200, an error" in told and f'"slot": {U64_MAX},' in told
    assert "x-ratelimit-remaining" in told

    asked = len(browser.asked)
    page.fill(f"{form} textarea", "{not json")
    page.click(f"{form} button[type=submit]")
    page.wait_for_selector(f"{form} .outcome .word:text('not sent')")
    assert "params are no JSON" in outcome(form)
    assert len(browser.asked) == asked, "what cannot be read is not sent"

    page.fill("#key-getBlockTime", secret)
    browser.open("/docs/node/whoami/")
    assert page.input_value("#key-whoami") == secret, "one tab, one key"
    page.click("form.try button[type=submit]")
    told = outcome("form.try")
    assert '"name": "tried"' in told and "HTTP 200" in told and "an error" not in told

    browser.open("/docs/http/tipaddress/")
    page.click(f"{form} button[type=submit]")
    assert "pubkey is empty" in outcome(form)
    page.fill("#tipaddress-pubkey", "1" * 32)
    page.click(f"{form} button[type=submit]")
    page.wait_for_selector(f"{form} .outcome pre")
    assert '"valid": false' in outcome(form)

    browser.open("/docs/console/")
    page.select_option("#choice", "/historical getSignaturesForAddress")
    assert page.input_value("#params-console").startswith("[")
    page.select_option("#choice", "/rewind whoami")
    page.click("form.try button[type=submit]")
    assert '"tried"' in outcome("form.try")

    # As a shell's command, without the key.
    page.select_option("#choice", "/historical getBlocks")
    page.fill("#params-console", "[5, 7]")
    page.click("[data-curl]")
    command = page.locator(".curl code").inner_text()
    assert f"curl -sS '{browser.base}/historical'" in command
    assert '"method":"getBlocks","params":[5, 7]}' in command and secret not in command

    # What was sent is kept, and comes back with a click.
    lines = page.locator(".history li")
    assert lines.all_inner_texts()[0].startswith("whoami /rewind")
    assert lines.count() == 3
    lines.filter(has_text="getBlockTime").click()
    assert page.input_value("#choice") == "/historical getBlockTime"
    assert page.input_value("#params-console") == f"[{U64_MAX}]"
    assert page.get_attribute("#described", "href") == "/docs/historical/getBlockTime/"

    # Another tab knows no key; and none ever stood in an address, or in what outlives the tab.
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert "getBlockTime" in kept and secret not in kept
    assert not any(secret in url for url in browser.asked)
    other = watched()
    other.open("/docs/node/whoami/")
    assert other.page.input_value("#key-whoami") == ""
    other.page.wait_for_selector("form.try")
    page.click("[data-clear]")
    assert page.evaluate("localStorage.length") == 0 and not page.is_visible(".history")
    assert browser.problems == other.problems == []
