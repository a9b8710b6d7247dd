"""The search by keyboard: Ctrl-K, typing, arrows, Enter and Esc."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import Watched

pytestmark = pytest.mark.soak


def test_ctrl_k_leads_to_a_customer(service: str, watched: Callable[[], Watched]) -> None:
    from access.models import Customer

    Customer.objects.create(name="Northern Lights")
    second = Customer.objects.create(name="Northern Star")
    visitor = watched()
    visitor.sign_in()
    page = visitor.page
    assert page.locator("#search-input-command").count() == 0, "the theme's own answers this key"
    page.keyboard.press("Control+k")
    dialog = page.locator("dialog.find-dialog")
    dialog.get_by_text("What can be found").wait_for()
    page.keyboard.type("northern")
    dialog.get_by_text("Northern Star").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.keyboard.press("Control+k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/admin/access/customer/{second.pk}/change/")
    assert not visitor.problems
