"""Keys in a real browser: staff from a new customer to the audit log, and a customer who looks for
the key that burns the quota.
"""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.browser.conftest import PASSWORD, SCREENSHOTS, Watched
from tests.browser.everything import EMAIL
from tests.browser.looking import STICKING_OUT, barriers, look_at_all, member
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.soak

KEYS = "/admin/access/apikey/"


def ask(base: str, secret: str, method: str, *params: Any, path: str = "/historical") -> int:
    """The HTTP status of a call with the key."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Authorization": secret, "Content-Type": "application/json"}
    request = urllib.request.Request(base + path, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def becomes(status: int, call: Callable[[], int]) -> None:
    """A change of a key holds within two seconds in every process."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while call() != status:
        assert time.monotonic() < deadline, f"never answered {status}"
        time.sleep(0.2)


def countdown(page: Any) -> timedelta:
    """What the page's countdown says: "in 2 d 1:59:58"."""
    found = re.fullmatch(r"in (?:(\d+) d )?(\d+):(\d\d):(\d\d)", page.inner_text(".tm-countdown"))
    assert found, page.inner_text(".tm-countdown")
    days, hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def rolled_up(key_id: int, calls: int) -> None:
    """Waits until the web server's counts are in the tables, as the worker puts them there."""
    from django.db.models import Sum

    from access.models import KeyDay
    from access.tasks import roll_up_usage

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        roll_up_usage()
        counted = KeyDay.objects.filter(key=key_id).aggregate(total=Sum("calls"))["total"] or 0
        if counted >= calls:
            return
        assert time.monotonic() < deadline, f"{counted} of {calls} calls are counted"
        time.sleep(0.2)


def test_staff_from_a_new_customer_to_the_audit_log(watched: Callable[[], Watched]) -> None:
    from access.models import ApiKey

    visitor = watched()
    visitor.sign_in()
    page, base = visitor.page, visitor.base

    visitor.open("/admin/access/customer/add/")
    page.fill("#id_name", "Grace Hopper")
    page.click("button[name=_save]")
    visitor.open("/admin/access/tier/add/")
    for name, value in (("name", "trial"), ("rank", "5"), ("requests_per_second", "50")):
        page.fill(f"#id_{name}", value)
    page.fill("#id_calls_per_month", "1000")
    page.click("button[name=_save]")

    visitor.open(f"{KEYS}add/")
    page.click(".select2-selection")
    page.keyboard.type("Grace")
    page.click(".select2-results__option:has-text('Grace')")
    page.fill("#id_name", "compiler")
    page.select_option("#id_tier", label="trial")
    page.click("button[name=_save]")
    page.wait_for_url("**/issued/")
    secret = page.inner_text("#secret-1").strip()
    for language in ("curl", "Python", "TypeScript"):
        page.click(f"summary:has-text('First call: {language}')")
        assert secret in page.inner_text(f"#call-1-{language.lower()}")

    old = ApiKey.objects.get(name="compiler")
    assert ask(base, secret, "whoami") == 200
    assert ask(base, secret, "getBlock", "x") == 200

    visitor.open(f"{KEYS}{old.pk}/change/")
    page.click("a:text-is('Rotate')")
    page.fill("#id_overlap_hours", "2")
    page.click("button.tm-button:text-is('Rotate')")
    page.wait_for_url("**/issued/")
    successor = page.inner_text("#secret-1").strip()
    assert ask(base, successor, "whoami") == ask(base, secret, "whoami") == 200

    # The old key's page counts down; its end is put off, and then brought forward.
    visitor.open(f"{KEYS}{old.pk}/change/")
    assert timedelta(hours=1) < countdown(page) <= timedelta(hours=2)
    page.click(".tm-note >> text=Extend")
    page.fill("#id_more_hours", "48")
    page.click("button.tm-button:text-is('Extend')")
    page.wait_for_url(f"**{KEYS}{old.pk}/change/")
    assert timedelta(days=2, hours=1) < countdown(page) <= timedelta(days=2, hours=2)
    page.click(".tm-note >> text=End now")
    page.click("button.tm-button:text-is('End now')")
    page.wait_for_url(f"**{KEYS}{old.pk}/change/")
    becomes(401, lambda: ask(base, secret, "whoami"))

    new = ApiKey.objects.get(rotated_from=old)
    rolled_up(old.pk, 4)
    rolled_up(new.pk, 1)
    visitor.open(f"{KEYS}{old.pk}/change/")
    refusals = page.inner_text(".tm-refusals")
    assert "key_expired" in refusals and "401 · -32003" in refusals
    assert "invalid_params" in refusals and "/historical" in refusals
    assert page.locator(".tm-plot canvas").count() == 1
    with page.expect_download() as download:
        page.click(".tm-exports >> text=by method")
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "method,outcome,kind,calls,mean_ms"
    assert any(line.startswith("whoami,ok,counted,2,") for line in lines)

    visitor.open(f"{KEYS}{new.pk}/change/")
    assert "of 1,000 calls" in page.inner_text(".tm-quota")
    page.click("a:text-is('Suspend')")
    page.click("button.tm-button:text-is('Suspend')")
    page.wait_for_url(f"**{KEYS}{new.pk}/change/")
    becomes(403, lambda: ask(base, successor, "whoami"))

    visitor.open("/admin/staff/auditentry/")
    log = page.inner_text("#result_list")
    for verb in ("rotated", "extended the overlap of", "ended the overlap of", "suspended"):
        assert verb in log, verb
    assert not visitor.problems, "\n".join(visitor.problems)


def test_a_change_of_a_tier_is_asked_about_in_the_browser(watched: Callable[[], Watched]) -> None:
    from access import store
    from access.models import Tier
    from access.services import keys
    from access.usage_sums import add_usage

    limits = {"rank": 20, "requests_per_second": 100, "requests_burst": 200}
    tier = Tier.objects.update_or_create(name="ultra", defaults=limits)[0]
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=30)
    for number, name in enumerate(("Northern Lights", "x" * 100, "Ada")):
        key = keys.issue_key(store.customer_by_name(name), tier=tier, name="bot").key
        add_usage([(key.pk, "getSlot", "ok", minute, 2_000 - 900 * number, 9)])
    visitor = watched()
    visitor.sign_in()
    page = visitor.page
    visitor.open(f"/admin/access/tier/{tier.pk}/change/")
    page.fill("#id_requests_per_second", "5")
    page.click("text=Show whom this hits")
    page.wait_for_selector("text=Nothing is saved yet")
    words = page.inner_text("body")
    assert "2 customers, 2 keys: at least 2100 calls" in words.replace("\xa0", " ")
    (SCREENSHOTS / "keys").mkdir(parents=True, exist_ok=True)
    for (width, height), is_dark in (((1440, 900), False), ((390, 844), True)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", is_dark)
        visitor.settle()
        assert page.evaluate(STICKING_OUT) == [] and barriers(page) == []
        file = SCREENSHOTS / "keys" / f"tier-impact-{'dark' if is_dark else 'light'}.jpg"
        page.screenshot(path=file, type="jpeg", full_page=True)
    page.click("button:text-is('Save these limits')")
    page.wait_for_url("**/admin/access/tier/")
    tier.refresh_from_db()
    assert tier.requests_per_second == 5
    assert not visitor.problems, "\n".join(visitor.problems)


def test_a_customer_finds_the_key_that_burns_the_quota(watched: Callable[[], Watched]) -> None:
    from access import refused_calls
    from access.models import Customer, Tier
    from access.services import keys
    from access.usage_sums import add_usage
    from portal.services import key_actions, members

    now = timezone.now()
    customer = Customer.objects.create(name="Northern Lights")
    members.choose_password(members.invite(customer, email=EMAIL, role="owner").user, PASSWORD)
    limits = {"rank": 30, "calls_per_month": 100_000}
    tier = Tier.objects.update_or_create(name="elite", defaults=limits)[0]
    names = ("wallet back end", "indexer", "the night shift's bot with a long name " + "n" * 50)
    wallet, indexer, bot = (
        keys.issue_key(
            customer, tier=tier, name=name, expires_at=now + timedelta(days=40 * n + 5)
        ).key
        for n, name in enumerate(names)
    )
    minute = now.replace(second=0, microsecond=0)
    for hours in range(0, 24 * 12, 3):
        at = minute - timedelta(hours=hours)
        add_usage(
            [
                (wallet.pk, "getBlock", "ok", at, 40 + hours % 50, 9_000),
                (indexer.pk, "getTransaction", "ok", at, 900 + 7 * hours % 800, 9_000),
                (indexer.pk, "getTransaction", "rate_limited", at, 5 * hours % 300, 9_000),
                (bot.pk, "getSlot", "ok", at, 5, 9_000),
            ]
        )
    for number in range(60):
        reason = ("rate_limited", "scope_missing")[number % 7 == 0]
        refused_calls.note(
            indexer.pk,
            seconds=now.timestamp() - 40 * number,
            method="getTransaction",
            path="/historical",
            status=429 if reason == "rate_limited" else 403,
            code=-32005 if reason == "rate_limited" else -32003,
            reason=reason,
            message="Too many requests"
            if reason == "rate_limited"
            else "This API key does not have the scope `bundle`",
            request_id=f"c0ffee{number:06x}-{number:x}",
            address=f"203.0.{number % 3}.9",
        )
    assert refused_calls.flush()
    key_actions.rotate(customer.pk, wallet.pk, overlap=timedelta(hours=30), now=now)
    visitor = member(watched)
    page = visitor.page

    # From the overview to the key, by what it has used of its month.
    meter = page.locator(".meter").first
    assert "indexer" in meter.inner_text()
    visitor.open("/portal/keys/")
    calls = page.locator("tr:has-text('indexer') .tm-sparkline")
    assert "refused or failed" in (calls.locator("title").text_content() or "")
    page.check("tr:has-text('indexer') input[name=key]")
    page.check("tr:has-text('wallet back end') input[name=key] >> nth=0")
    page.click("button:text-is('Compare')")
    page.wait_for_url("**/portal/keys/compare/?keys=*")
    assert page.locator(".tm-plot canvas").count() == 1
    assert page.locator("[data-series]").count() == 2
    page.click(".choices >> text=Refused")
    page.wait_for_url("**measure=refused*")
    page.click("td >> text=indexer")
    page.wait_for_url(f"**/portal/keys/{indexer.pk}/")
    assert "before the month ends" in page.inner_text(".tm-quota") or "is reached" in (
        page.inner_text(".tm-quota")
    )
    assert page.locator(".tm-refusals tbody tr").count() == refused_calls.MOST
    assert "scope_missing" in page.inner_text(".tm-refusals")

    compared = ",".join(str(key.pk) for key in (wallet, indexer, bot))
    pages = [
        ("portal-keys", "/portal/keys/"),
        ("portal-key", f"/portal/keys/{indexer.pk}/?span=7d"),
        ("portal-key-rotated", f"/portal/keys/{wallet.pk}/"),
        ("portal-compare", f"/portal/keys/compare/?keys={compared}&span=7d"),
    ]
    wrong = look_at_all(visitor, pages, "keys")
    staff = watched()
    staff.sign_in()
    pages = [
        ("admin-keys", KEYS),
        ("admin-key", f"{KEYS}{indexer.pk}/change/?span=7d"),
        ("admin-compare", f"/admin/priority/submission/compare/?keys={compared}&span=7d"),
    ]
    wrong += look_at_all(staff, pages, "keys")
    assert not wrong, "\n".join(wrong)
