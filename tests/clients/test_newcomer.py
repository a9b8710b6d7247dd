"""A newcomer's way in the browser: from the front page to a landed transaction in the portal."""

import json
import re
import sys
from typing import Any

import pytest

from tests.browser.conftest import Watched, chromium
from tests.browser.looking import barriers
from tests.browser.test_portal import shown_secret
from tests.patience import PATIENCE_SECONDS

from .service import Service
from .test_readme import run

__all__ = ["chromium"]

pytestmark = pytest.mark.soak


@pytest.fixture
def visitor(chromium: Any, followed: Service) -> Any:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=followed.base_url)
    yield Watched(context.new_page(), followed.base_url)
    context.close()


def test_from_the_front_page_to_a_landed_transaction(visitor: Watched, followed: Service) -> None:
    page, base = visitor.page, followed.base_url
    credentials = json.loads((followed.run_dir / "credentials.json").read_text())["portal"]

    # The front page shows slots as they come, without a reload.
    visitor.open("/")
    page.wait_for_selector("#strip .word.good")
    page.wait_for_selector("#strip rect.block")
    before = page.inner_text("#strip")
    changed = "text => document.querySelector('#strip').innerText !== text"
    page.wait_for_function(changed, arg=before)
    assert not barriers(page)

    page.click("text=Send your first transaction")
    page.wait_for_url(f"{base}/docs/guides/first-transaction/")
    assert not barriers(page)

    # The key comes from the portal.
    page.click("header >> text=Portal")
    page.fill("#id_email", credentials["email"])
    page.fill("#id_password", credentials["password"])
    page.click("main button[type=submit]")
    page.wait_for_url(f"{base}/portal/")
    page.click("nav >> text=Keys")
    page.click("text=Issue a key")
    page.fill("#id_name", "my first key")
    page.click("main button[type=submit]")
    secret = shown_secret(visitor)

    # Found by the search, copied, and run as it is.
    visitor.open("/docs/")
    page.keyboard.press("Control+k")
    page.keyboard.type("first transaction")
    page.wait_for_selector("dialog .find-hit >> text=Send your first transaction")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/docs/guides/first-transaction/"))
    code = page.locator(".tabs .tab", has_text="from tidemark import Tidemark")
    code.locator("button").click()
    text = page.evaluate("navigator.clipboard.readText()")
    signature = run(followed, sys.executable, "-c", text, KEY=secret).strip()

    # And seen in the portal.
    page.click("header >> text=Portal")
    page.click("nav >> text=Submissions")
    page.fill("main input[name=q]", signature)
    page.press("main input[name=q]", "Enter")
    page.wait_for_url(f"{base}/portal/fates/{signature}/")
    while "landed" not in page.inner_text("main"):
        page.wait_for_timeout(300)
        page.reload()
    assert "my first key" in page.inner_text("main")
    assert not visitor.problems, "\n".join(visitor.problems)
