"""The pages under their Content-Security-Policy: the theme does all it does, without `eval`."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import everything
from tests.browser.conftest import PASSWORD
from tests.browser.sample_data import fill

pytestmark = pytest.mark.soak

# A script that somebody smuggled into a page; the browser must not run it.
SMUGGLED = """() => {
  const script = document.createElement('script');
  script.textContent = 'window.smuggled = true';
  document.body.append(script);
  const button = document.createElement('button');
  button.setAttribute('onclick', 'window.smuggled = true');
  document.body.append(button);
  button.click();
  return window.smuggled === true;
}"""


@pytest.fixture
def visitor(watched: Callable[[], Any]) -> Any:
    from django.utils import timezone

    found = watched()
    fill(timezone.now())
    found.sign_in()
    return found


def test_the_theme_works_without_eval_and_inline_scripts(visitor: Any) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    visitor.open("/admin/")

    # The colours, kept over pages: from "auto" to light, and on to dark.
    page.keyboard.press("Control+e")
    page.keyboard.press("Control+e")
    page.locator("html.dark").wait_for()
    visitor.open("/admin/access/apikey/")
    page.locator("html.dark").wait_for()
    page.keyboard.press("Control+e")
    page.locator("html:not(.dark)").wait_for()

    # The sidebar, closed and opened, kept over pages.
    sidebar = page.locator("#nav-sidebar")
    assert sidebar.is_visible()
    page.locator("text=dock_to_right >> visible=true").click()
    sidebar.wait_for(state="hidden")
    visitor.open("/admin/access/apikey/")
    assert not sidebar.is_visible()
    page.locator("text=dock_to_right >> visible=true").click()
    sidebar.wait_for(state="visible")

    # Filters of a list, and the choice of an action for ticked rows.
    page.locator("a:has-text('Filters'), button:has-text('Filters')").first.click()
    page.locator("#changelist-filter").wait_for(state="visible")
    page.keyboard.press("Escape")
    page.locator("#changelist-filter").wait_for(state="hidden")

    # The user's menu.
    page.locator("[x-on\\:click='openUserLinks = !openUserLinks'] >> visible=true").first.click()
    page.locator("text=Change password >> visible=true").wait_for()
    page.keyboard.press("Escape")

    # A form goes back to where it stands.
    visitor.open("/admin/access/customer/add/")
    assert page.locator("#customer_form").get_attribute("action") == "/admin/access/customer/add/"
    assert visitor.problems == []


@pytest.mark.parametrize(
    "path",
    ["/", "/docs/", "/docs/console/", "/docs/errors/", "/portal/sign-in/", "/admin/login/"],
)
def test_no_page_runs_a_script_that_came_with_it(watched: Callable[[], Any], path: str) -> None:
    visitor = watched()
    visitor.open(path)
    assert visitor.problems == []
    visitor.refusals_expected = True
    assert not visitor.page.evaluate(SMUGGLED)


def test_the_portals_pages_are_strict_and_whole(watched: Callable[[], Any]) -> None:
    from django.utils import timezone

    everything.fill(timezone.now(), PASSWORD)
    visitor = watched()
    page = visitor.page
    visitor.open("/portal/sign-in/")
    page.fill("[name=email]", everything.EMAIL)
    page.fill("[name=password]", PASSWORD)
    with page.expect_navigation():
        page.click("main button[type=submit]")
    for path in ("/portal/", "/portal/usage/", "/portal/keys/", "/portal/webhooks/"):
        visitor.open(path)
    visitor.open("/portal/usage/")
    bar = page.locator(".bars .bar rect").first
    assert bar.bounding_box()["height"] > 5
    assert visitor.problems == []
