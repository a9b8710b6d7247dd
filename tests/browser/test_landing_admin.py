"""Landing and tipping in a real browser: wide and narrow, light and dark, by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.test_admin import SCREENSHOTS, look

PAGES = {
    "submissions": "/admin/priority/submission/",
    "bundles": "/admin/priority/bundle/",
    "upstreams": "/admin/priority/upstream/",
    "tip-classes": "/admin/tipping/ttlclass/",
    "tip-batches": "/admin/tipping/tipbatch/",
    "tip-addresses": "/admin/tipping/tipaddress/",
    "tip-ledger": "/admin/tipping/tipentry/",
    "tip-sweeps": "/admin/tipping/tipsweep/",
}


@pytest.fixture(autouse=True)
def folders() -> None:
    for state in ("empty", "full"):
        (SCREENSHOTS / state).mkdir(parents=True, exist_ok=True)


def fill() -> dict[str, str]:
    """Something of everything; the pages of single rows."""
    from django.utils import timezone

    from access.models import Tier
    from access.services.keys import issue_key
    from access.store import customer_by_name
    from tests.priority.landed_samples import fill_landing
    from tests.tipping.tipped_samples import fill_tipping

    now = timezone.now()
    basic = Tier.objects.get_or_create(name="basic", defaults={"rank": 10})[0]
    owner = customer_by_name("Northern Lights Validators and Archive Services")
    key = issue_key(owner, tier=basic, name="the arbitrage bot of the night shift").key
    landed, tipped = fill_landing(now, key=key, rounds=5), fill_tipping(now, key=key)
    return {
        "submission": f"{PAGES['submissions']}{landed['landed']}/change/",
        "bundle": f"{PAGES['bundles']}{landed['bundle']}/change/",
        "upstream": f"{PAGES['upstreams']}{landed['frankfurt']}/change/",
        "tip-batch": f"{PAGES['tip-batches']}{tipped['batch']}/change/",
        "tip-address": f"{PAGES['tip-addresses']}{tipped['address']}/change/",
        "tip-sweep": f"{PAGES['tip-sweeps']}{tipped['sweep']}/change/",
        "home-landing": "/admin/",
    }


def test_the_pages_without_data(watched: Callable[[], Any]) -> None:
    visitor = watched()
    visitor.sign_in()
    wrong = []
    for name in ("submissions", "tip-classes", "tip-ledger"):
        wrong += look(visitor, name, PAGES[name], "empty")
    assert not wrong, "\n".join(wrong)


def test_the_pages_with_data_and_orders_given_on_them(watched: Callable[[], Any]) -> None:
    from priority.models import Upstream

    visitor = watched()
    single = fill()
    visitor.sign_in()
    wrong = []
    for name, path in {**PAGES, **single}.items():
        wrong += look(visitor, name, path, "full")
    assert not wrong, "\n".join(wrong)

    page = visitor.page
    page.set_viewport_size({"width": 1440, "height": 900})
    visitor.open(PAGES["upstreams"])
    for box in page.query_selector_all("#changelist-form tbody input.action-select"):
        box.check()
    page.select_option("select[name=action]", "reset_breaker")
    page.click("button[name=index]")
    page.wait_for_selector("text=1 upstream is tried again")
    assert not Upstream.objects.filter(broken_until__isnull=False).exists()
    page.set_viewport_size({"width": 1440, "height": 500})
    visitor.open(PAGES["tip-batches"])
    boxes = page.query_selector_all("#changelist-form tbody input.action-select")
    assert len(boxes) >= 8
    for box in (boxes[0], boxes[-1]):  # the bar of orders is there by the second
        box.check()
    visitor.open(f"{PAGES['upstreams']}add/")
    page.fill("#id_name", "bundle")
    page.select_option("#id_kind", "node")
    page.click("button[name=_save]")
    page.wait_for_selector("text=stands for every block engine")
    assert visitor.problems == []
