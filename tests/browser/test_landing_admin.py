"""Landing and tipping in a real browser: what hangs on scripts, and orders given by hand."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

pytestmark = pytest.mark.soak

PAGES = {
    "landing": "/admin/priority/submission/landing/",
    "upstreams": "/admin/priority/upstream/",
    "tip-desk": "/admin/tipping/ttlclass/",
    "tip-batches": "/admin/tipping/tipbatch/",
}


def fill() -> dict[str, str]:
    """Something of everything: an upstream's page, and a signature to look up."""
    from django.utils import timezone

    from access.models import Tier
    from access.services.keys import issue_key
    from access.store import customer_by_name
    from priority.reports.services import counting
    from tests.priority.landed_samples import fill_landing
    from tests.priority.test_landing_counts import mark_all
    from tests.tipping.tipped_samples import fill_tipping
    from tipping.store import tip_days

    now = timezone.now()
    basic = Tier.objects.get_or_create(name="basic", defaults={"rank": 10})[0]
    owner = customer_by_name("Northern Lights Validators and Archive Services")
    key = issue_key(owner, tier=basic, name="the arbitrage bot of the night shift").key
    landed = fill_landing(now, key=key, rounds=5)
    fill_tipping(now, key=key)
    mark_all()
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    tip_days.count_days()
    return {
        "upstream": f"{PAGES['upstreams']}{landed['frankfurt']}/change/",
        "signature": landed["signature"],
    }


def test_orders_are_given_and_one_is_looked_up_by_hand(watched: Callable[[], Any]) -> None:
    from priority.upstreams.models import Upstream

    visitor = watched()
    single = fill()
    visitor.sign_in()
    page = visitor.page
    page.set_viewport_size({"width": 1440, "height": 900})
    visitor.open(PAGES["upstreams"])
    for box in page.query_selector_all("#changelist-form tbody input.action-select"):
        box.check()
    page.select_option("select[name=action]", "reset_breaker")
    page.click("button[name=index]")
    page.wait_for_selector("text=Retrying now: frankfurt.")
    assert not Upstream.objects.filter(broken_until__isnull=False).exists()
    visitor.open(single["upstream"])
    page.click("text=Drain")
    page.wait_for_selector("text=No new submissions go to: frankfurt.")
    visitor.open(PAGES["landing"])
    page.fill("#main input[type=search][name=q]", single["signature"])
    page.click("text=Look up")
    page.wait_for_load_state()
    page.wait_for_function(
        "text => document.body.innerText.includes(text)", arg=single["signature"]
    )
    said = page.inner_text("#main")
    assert "Landed in slot 332254855, transaction 7, 1 slot after acceptance (finalized)." in said
    assert "finalized, final" in said
    assert "/admin/priority/" in page.url and "landing" not in page.url
    visitor.open(PAGES["tip-desk"])
    left = page.inner_text(".tm-countdown >> nth=0")
    page.locator(".tm-countdown").first.filter(has_not_text=left).wait_for()
    page.click("text=Rotate now >> nth=0")
    page.click("button:has-text('Rotate now')")
    page.wait_for_selector("text=a new batch is open")
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
