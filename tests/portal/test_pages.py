"""What the pages of the portal say: overview, usage, limits, fates, webhooks."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access import refusal_advice
from access.models import ApiKey, Tier
from access.services import keys
from access.usage_sums import add_usage
from alerts.models import Delivery, Webhook
from alerts.services import webhooks
from portal import fate_texts
from priority.fates.reasons import REASONS
from priority.models import Bundle, Submission
from priority.reports.services import counting
from staff.models import AuditEntry
from tests.portal.conftest import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(owner: Any, browser: Browser) -> Client:
    return browser(owner)


def text_of(client: Client, path: str) -> str:
    """The page's words, as a reader sees them."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.status_code
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def called(key: ApiKey, *rows: tuple[str, str, int]) -> None:
    minute = timezone.now().replace(second=0, microsecond=0)
    add_usage([(key.pk, method, status, minute, calls, 1_000) for method, status, calls in rows])


def test_the_overview_without_anything_says_what_to_do_next(client: Client) -> None:
    text = text_of(client, "/portal/")
    assert "There is no key yet" in text and "No calls yet" in text
    assert "What was refused" not in text


def test_the_overview_tells_of_what_needs_somebody(client: Client, ada: Any, key: ApiKey) -> None:
    called(
        key,
        ("getBlock", "ok", 1_200),
        ("getBlock", "rate_limited", 77),
        ("getBlock", "block_not_available", 3),
    )
    ApiKey.objects.update(
        expires_at=timezone.now() + timedelta(days=2, hours=1), calls_per_month=1_500
    )
    hook = webhooks.create(ada.pk, name="the bridge", url="http://127.0.0.1:9/")
    webhooks.disable(hook.pk, reason="answered 410 Gone")
    text = text_of(client, "/portal/")
    assert "expires in 2 d : rotate it, or extend it" in text
    assert "Webhook the bridge is off" in text
    assert "1,203 of 1,500" in text
    assert "30 calls per second, 30 at once after a pause" in text
    assert "rate_limited 77 refused" in text and refusal_advice.advice("rate_limited") in text
    assert "Wait until the ledger reaches the slot." in text, "as in docs/errors.md"


def test_the_overview_links_what_did_not_land(
    client: Client, ada: Any, eve: Any, rows_of: Callable[..., Any]
) -> None:
    key = rows_of(ada)["key"]
    rows_of(eve)
    Submission.objects.update(accepted_at=timezone.now())
    counting.count(kept=timedelta(days=60), now=timezone.now(), calm=timedelta(0))
    html = client.get("/portal/").content.decode()
    for state in ("failed", "expired", "refused"):
        count = Submission.objects.filter(key=key, state=state).count()
        assert f'<a href="/portal/fates/?state={state}">{count} {state}</a>' in html
    assert "in the last 24 hours" in html


def test_the_overview_names_keys_with_a_monthly_limit_of_their_own(
    client: Client, key: ApiKey
) -> None:
    text = text_of(client, "/portal/")
    assert "Their own limits" not in text and "The quota resets" not in text
    assert "The count starts again in " in text
    ApiKey.objects.update(calls_per_month=2_000)
    assert "The quota resets in " in text_of(client, "/portal/")
    for page in ("/portal/", "/portal/limits/"):
        text = text_of(client, page)
        assert "calls a month: no limit" in text
        assert "Their own limits: production 2,000 calls a month" in text


def test_a_quota_is_the_same_on_every_page_and_without_refused_calls(
    client: Client, key: ApiKey
) -> None:
    called(key, ("getBlock", "ok", 175), ("getBlock", "rate_limited", 30))
    assert "Quota" not in text_of(client, "/portal/keys/")
    ApiKey.objects.update(calls_per_month=2_000)
    assert "175 of 2,000 8.8 %" in text_of(client, "/portal/keys/")
    assert "175 of 2,000 (8.8 %)" in text_of(client, "/portal/limits/")
    assert "175 of 2,000 calls 8.8 %" in text_of(client, f"/portal/limits/{key.pk}/")
    assert "175 of 2,000 calls 8.8 %" in text_of(client, f"/portal/keys/{key.pk}/")
    assert "175 of 2,000 8.8 %" in text_of(client, "/portal/")


def test_the_month_of_a_rotated_key_is_counted_once(client: Client, key: ApiKey) -> None:
    new = keys.rotate_key(key.pk, overlap=timedelta(hours=1), now=timezone.now()).key
    called(key, ("getBlock", "ok", 1_000))
    called(new, ("getBlock", "ok", 234), ("getBlock", "unavailable", 9))
    for path in ("/portal/", "/portal/usage/?span=month"):
        assert "1,234" in text_of(client, path) and "2,468" not in text_of(client, path)
    assert client.get("/portal/").context["month"]["used"] == "1,234"


def test_usage_shows_own_calls_by_key_method_and_outcome(
    client: Client, ada: Any, key: ApiKey, rows_of: Callable[..., Any], eve: Any
) -> None:
    other = rows_of(eve)["key"]
    called(key, ("getBlock", "ok", 1_234), ("getSlot", "rate_limited", 55))
    called(other, ("getSecrets", "ok", 9_999))
    text = text_of(client, "/portal/usage/")
    assert "counted 1,234" in text and "refused 55" in text
    assert "getSecrets" not in text and "9,999" not in text
    text = text_of(client, f"/portal/usage/?span=month&key={key.pk}&status=rate_limited")
    assert "Only the outcome rate_limited" in text and "counted 0" in text
    answer = client.get(f"/portal/usage/csv/?span=24h&key={key.pk}")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]
    assert {(row["method"], row["calls"]) for row in rows} == {
        ("getBlock", "1234"),
        ("getSlot", "55"),
    }


def test_limits_tell_what_is_left(client: Client, key: ApiKey) -> None:
    Tier.objects.filter(pk=key.tier_id).update(
        calls_per_month=10_000, tip_fetches_per_second=5.0, tip_fetches_daily_cap=500
    )
    called(key, ("getBlock", "ok", 2_500))
    assert "2,500 of 10,000 (25 %)" in text_of(client, "/portal/limits/")
    text = text_of(client, f"/portal/limits/{key.pk}/")
    assert "Calls 30 a second 30 30 0 s" in text
    assert "Tip-address fetches of the UTC day 500 a day - 500 at midnight UTC" in text


# --- fates ---


def test_fates_are_listed_newest_first_by_state_and_page(
    client: Client, ada: Any, rows_of: Callable[..., Any], eve: Any
) -> None:
    rows_of(ada), rows_of(eve)
    mine = Submission.objects.filter(key__customer=ada)
    page = client.get("/portal/fates/")
    shown = [row["signature"] for row in page.context["rows"]]
    assert shown == [str(row.signature) for row in mine.order_by("-pk")]
    page = client.get("/portal/fates/?state=failed")
    assert [row["signature"] for row in page.context["rows"]] == [
        str(mine.get(state="failed").signature)
    ]
    row = mine.order_by("-pk")[3]
    page = client.get(f"/portal/fates/?before={row.pk}")
    assert [each["signature"] for each in page.context["rows"]] == shown[4:]
    assert client.get("/portal/fates/?before=x&state=nothing").status_code == 200


def test_a_fate_is_told_in_words_with_what_to_do(
    client: Client, ada: Any, rows_of: Callable[..., Any]
) -> None:
    rows_of(ada)
    mine = Submission.objects.filter(key__customer=ada, kind="transaction")
    failed = mine.get(state="failed")
    text = text_of(client, f"/portal/fates/{failed.signature}/")
    assert "it is in a block with an error" in text and "InstructionError" in text
    assert "Seen in slot 332254860" in text and "What to do:" in text
    assert "HWfQ3cT8y7c5VJm3zFbrM2p4kq5nYt9sDqGg6uEw1bQa" in text, "its tries"
    assert "Known to fail" not in text
    Submission.objects.filter(pk=failed.pk).update(will_fail="it asks for no units")
    text = text_of(client, f"/portal/fates/{failed.signature}/")
    assert "Known to fail It asks for no units." in text
    expired = mine.get(state="expired")
    Submission.objects.filter(pk=expired.pk).update(reason="blockhash_expired: told by a node")
    text = text_of(client, f"/portal/fates/{expired.signature}/")
    assert REASONS["blockhash_expired"].advice in text
    bundle = Bundle.objects.get(key__customer=ada, state="expired")
    text = text_of(client, f"/portal/bundles/{bundle.bundle_id}/")
    assert "engine refused: bundle tip is too low engine_refused" in text
    assert "Transaction 3 of 3" in text


@pytest.mark.parametrize(
    ("asked", "leads_to"),
    [
        ("ab" * 32, "/portal/bundles/" + "ab" * 32 + "/"),
        (" " + "1" * 64 + " ", "/portal/bundles/" + "1" * 64 + "/"),
        ("0" * 88, "/portal/fates/"),
        ("x<script>", "/portal/fates/"),
    ],
)
def test_the_search(client: Client, asked: str, leads_to: str) -> None:
    answer = client.get("/portal/fates/", {"q": asked})
    assert answer.headers["Location"] == leads_to


def test_the_search_leads_to_a_signature(
    client: Client, ada: Any, rows_of: Callable[..., Any]
) -> None:
    signature = rows_of(ada)["signature"]
    answer = client.get("/portal/fates/", {"q": signature}, follow=True)
    assert signature in answer.content.decode()


def test_what_was_never_submitted_is_said_to_be_unknown(client: Client, key: ApiKey) -> None:
    answer = client.get("/portal/fates/" + "1" * 64 + "/")
    assert answer.status_code == 404 and "Not found" in answer.content.decode()
    assert client.get("/portal/fates/nonsense/").status_code == 404
    assert client.get("/portal/bundles/nonsense/").status_code == 404


def test_every_reason_that_landing_gives_is_explained() -> None:
    root = Path(fate_texts.__file__).resolve().parent.parent.parent
    folders = [root / "priority", root / "platform" / "ingest"]
    words = set()
    for file in (file for folder in folders for file in folder.rglob("*.py")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "log." not in line and ("reason" in line or "why" in line or "explain" in line):
                words |= set(re.findall(r'f?"([a-z]+_[a-z_]+): ', line))
    assert words >= {"submitted_before", "upstream_busy", "engine_dropped"}
    assert words <= set(REASONS)


# --- webhooks ---


def test_a_webhook_is_added_tested_and_taken_away(client: Client, ada: Any) -> None:
    form = {"name": "bridge", "url": "http://127.0.0.1:9/hook", "kinds": ["key.expiring"]}
    page = client.post("/portal/webhooks/add/", form, follow=True).content.decode()
    hook = Webhook.objects.get(customer=ada)
    assert hook.kinds == ["key.expiring"]
    assert webhooks.secret_of(hook) in page

    def order(name: str, *more: int) -> str:
        path = reverse(f"portal:webhook_{name}", args=[hook.pk, *more])
        text = client.post(path, follow=True).content.decode()
        hook.refresh_from_db()
        return text

    assert "The test is being sent" in order("test")
    delivery = Delivery.objects.get(webhook=hook)
    Delivery.objects.update(state="failed", tries=9)
    assert "It is being delivered again" in order("redeliver", delivery.pk)
    delivery.refresh_from_db()
    assert delivery.state == "waiting" and delivery.tries == 0
    before = webhooks.secret_of(hook)
    assert before not in order("secret")
    assert webhooks.secret_of(hook) != before
    order("disable")
    assert not hook.is_enabled
    assert "is off: enable it first" in order("test")
    order("enable")
    assert hook.is_enabled
    moved = {**form, "name": "renamed", "url": "http://127.0.0.1:9/hush"}
    client.post(reverse("portal:webhook", args=[hook.pk]), moved)
    hook.refresh_from_db()
    assert (hook.name, hook.url) == ("renamed", moved["url"])
    changes = AuditEntry.objects.get(verb="changed").changes
    assert changes == {"name": ["bridge", "renamed"], "url": ["127.0.0.1:9"] * 2}, "hosts alone"
    client.post(reverse("portal:webhook_delete", args=[hook.pk]))
    assert not Webhook.objects.exists()
    verbs = AuditEntry.objects.filter(subject_type="alerts.webhook").values_list("verb", flat=True)
    assert list(verbs) == [
        "deleted",
        "changed",
        "enabled",
        "disabled",
        "rotated the secret of",
        "delivered again to",
        "tested",
        "added",
    ]


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"name": ""}, "This field is required"),
        ({"url": "ftp://127.0.0.1/"}, "http"),
        ({"url": "nonsense"}, "http"),
        ({"kinds": ["alarm.opened"]}, "Select a valid choice"),
    ],
)
def test_a_webhook_that_cannot_be(client: Client, wish: dict[str, Any], problem: str) -> None:
    form = {"name": "bridge", "url": "http://127.0.0.1:9/hook", **wish}
    answer = client.post("/portal/webhooks/add/", form)
    assert problem in " ".join(
        re.findall('class="errorlist.*?</ul>', answer.content.decode(), re.S)
    )
    assert not Webhook.objects.exists()


def test_a_customer_has_ten_webhooks_at_most(client: Client, ada: Any) -> None:
    for number in range(webhooks.MOST_WEBHOOKS):
        webhooks.create(ada.pk, name=str(number), url="http://127.0.0.1:9/")
    form = {"name": "bridge", "url": "http://127.0.0.1:9/hook"}
    assert "delete one first" in client.post("/portal/webhooks/add/", form).content.decode()
    assert "The maximum of 10 webhooks is reached" in text_of(client, "/portal/webhooks/")


def test_alert_mails_are_switched(client: Client, ada: Any) -> None:
    for wanted in (False, True):
        client.post("/portal/webhooks/mails/", {"wanted": "on" if wanted else "off"})
        ada.refresh_from_db()
        assert ada.alert_mails is wanted
    assert AuditEntry.objects.filter(subject_type="access.customer").count() == 2
