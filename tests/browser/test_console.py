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

    browser.open("/docs/historical/")
    form = "#getBlockTime form.try"
    page.fill(f"{form} textarea", f"[{U64_MAX}]")
    page.click(f"{form} button")
    # Without a key, of an empty ledger; and with every digit.
    told = outcome(form)
    assert "HTTP 200, an error" in told and f'"slot": {U64_MAX},' in told
    assert "x-ratelimit-remaining" in told

    asked = len(browser.asked)
    page.fill(f"{form} textarea", "{not json")
    page.click(f"{form} button")
    page.wait_for_selector(f"{form} .outcome .word:text('not sent')")
    assert "params are no JSON" in outcome(form)
    assert len(browser.asked) == asked, "what cannot be read is not sent"

    page.fill("#key-getSlot", secret)
    browser.open("/docs/node/")
    assert page.input_value("#key-whoami") == secret, "one tab, one key"
    page.click("#whoami form.try button")
    told = outcome("#whoami")
    assert '"name": "tried"' in told and "HTTP 200" in told and "an error" not in told

    browser.open("/docs/http/")
    form = "#tipaddress form.try"
    page.click(f"{form} button")
    assert "pubkey is empty" in outcome(form)
    page.fill("#tipaddress-pubkey", "1" * 32)
    page.click(f"{form} button")
    page.wait_for_selector(f"{form} .outcome pre")
    assert '"valid": false' in outcome(form)

    browser.open("/docs/console/")
    page.select_option("#choice", "/historical getSignaturesForAddress")
    assert page.input_value("#params-console").startswith("[")
    page.select_option("#choice", "/rewind whoami")
    page.click("form.try button")
    assert '"tried"' in outcome("form.try")

    # Another tab knows no key; and none ever stood in an address, or in what outlives the tab.
    assert page.evaluate("localStorage.length") == 0
    assert not any(secret in url for url in browser.asked)
    other = watched()
    other.open("/docs/node/")
    assert other.page.input_value("#key-whoami") == ""
    assert browser.problems == other.problems == []
