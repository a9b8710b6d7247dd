"""Charts in a real browser: read by pointer and keys, zoomed, series switched, ranges shared."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.browser.conftest import Watched
from tests.browser.looking import ALL_PICTURES, STICKING_OUT, look_at_all

pytestmark = pytest.mark.soak

USAGE = "/admin/access/usageminute/"
MOST_BYTES = 300_000


def count(page: Any, colour_of: str) -> int:
    """Pixels of the chart in the colour of the swatch."""
    found: int = page.evaluate(
        """swatch => {
          const colour = getComputedStyle(document.querySelector(swatch)).backgroundColor;
          const probe = document.createElement('canvas').getContext('2d');
          probe.fillStyle = colour;
          probe.fillRect(0, 0, 1, 1);
          const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
          const canvas = document.querySelector('.tm-plot canvas');
          const context = canvas.getContext('2d', { willReadFrequently: true });
          const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
          let pixels = 0;
          for (let at = 0; at < data.length; at += 4)
            if (data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] > 250)
              pixels++;
          return pixels;
        }""",
        colour_of,
    )
    return found


def test_a_chart_is_read_zoomed_and_switched(watched: Callable[[], Watched]) -> None:
    from access.usage_sums import add_usage

    minute = timezone.now().replace(second=0, microsecond=0)
    hours = [minute - timedelta(hours=number) for number in range(30)]
    add_usage([(None, "getSlot", "ok", at, 40 + n, 9_000) for n, at in enumerate(hours)])
    add_usage([(None, "getSlot", "rate_limited", at, 7, 90) for at in hours])
    visitor = watched()
    visitor.sign_in()
    page = visitor.page
    visitor.open(f"{USAGE}?compare=previous")
    plot, readout = page.locator(".tm-plot"), page.locator(".tm-readout")
    over = page.locator(".u-over")
    rows = page.locator(".tm-figures tbody tr")
    assert rows.count() == 24

    # By the pointer: what is read is what the table says.
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 12.5 / 24, box["y"] + 20)
    time, ok, errors = (
        rows.nth(12).locator("th, td").nth(place).text_content() for place in range(3)
    )
    assert readout.inner_text().startswith(f"{time} UTC")
    assert f"counted {ok}" in readout.inner_text()
    assert f"refused {errors}" in readout.inner_text()

    # By keys, as a screen reader says it.
    plot.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    time = rows.nth(22).locator("th").text_content()
    assert plot.get_attribute("aria-valuetext").startswith(f"{time} UTC: counted 41")

    # A drag zooms, a double click zooms out; what is zoomed can be loaded and shared.
    def drag(first: float, last: float) -> None:
        box = over.bounding_box()
        page.mouse.move(box["x"] + box["width"] * first, box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * last, box["y"] + 40, steps=4)
        page.mouse.up()

    drag(0.25, 0.5)
    page.locator(".tm-zoom:visible").wait_for()
    over.dblclick()
    page.locator(".tm-zoom").wait_for(state="hidden")
    drag(0.25, 0.5)
    page.locator(".tm-zoom:visible").wait_for()

    # A series is off, and on again.
    before = count(page, "[data-series] .tm-refused")
    assert before > 0
    button = page.get_by_role("button", name="refused")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    visitor.settle()
    assert count(page, "[data-series] .tm-refused") == 0
    button.click()
    visitor.settle()
    assert count(page, "[data-series] .tm-refused") == before

    page.click("text=Load this range")
    page.wait_for_url("**from=*")
    assert "compare=previous" in page.url
    assert page.input_value("input[name=from]")[:14] in page.url.replace("%3A", ":")
    assert rows.count() > 24, "the steps are finer"
    page.click(".tm-ranges nav a:text-is('7 days')")
    page.wait_for_url("**span=7d*")
    assert "from=" not in page.url
    ours = [each for each in visitor.problems if "willReadFrequently" not in each]  # of `count`
    assert not ours, "\n".join(ours)


def test_every_page_with_a_chart(watched: Callable[[], Watched]) -> None:
    from tests.browser import everything
    from tests.browser.conftest import PASSWORD
    from tests.browser.looking import member

    ids = everything.fill(timezone.now(), PASSWORD)
    visitor = watched()
    visitor.sign_in()
    pages = [
        ("usage", f"{USAGE}?compare=previous"),
        ("usage-7d", f"{USAGE}?span=7d&compare=previous"),
        ("landing", "/admin/priority/submission/landing/?compare=previous"),
    ]
    if ALL_PICTURES:
        pages += [
            ("usage-bad", f"{USAGE}?from=x&to=y"),
            ("key", f"/admin/access/apikey/{ids['pk']}/change/"),
            ("audit", "/admin/rewind/auditedday/"),
            ("coverage", "/admin/rewind/slottally/"),
        ]
    # Of some answers playwright says a negative size; these are what came, headers too.
    sizes: list[float] = []
    wire = visitor.page.context.new_cdp_session(visitor.page)
    wire.send("Network.enable")
    wire.on("Network.loadingFinished", lambda ended: sizes.append(ended["encodedDataLength"]))
    wrong = look_at_all(visitor, pages[:1], "charts")
    assert 0 < sum(sizes) < MOST_BYTES, sizes
    wrong += look_at_all(visitor, pages[1:], "charts")
    customer = member(watched)
    portal = [("portal", "/portal/"), ("portal-usage", "/portal/usage/?span=7d")]
    wrong += look_at_all(customer, portal, "charts")
    assert customer.page.evaluate(STICKING_OUT) == []
    assert not wrong, "\n".join(wrong)
