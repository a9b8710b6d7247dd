"""The other pages: limits, webhooks, the console, the start."""

import base64
import json
import re
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from standardwebhooks.webhooks import Webhook

import reference
from access.models import Tier
from alerts.kinds import KINDS, Audience
from reference import guides, samples
from reference.paths import rpc_paths

HOST = "localhost"
PAGES = (
    "",
    "priority/",
    "bundle/",
    "historical/",
    "rewind/",
    "node/",
    "http/",
    "errors/",
    "limits/",
    "webhooks/",
    "console/",
    "changelog/",
    "search/?q=getBlock",
    *(f"{slug}/" for slug in guides.slugs()),
)


@pytest.fixture
def text(client: Any, db: None, empty_redis: None) -> Any:
    def read(path: str) -> str:
        answer = client.get(f"/docs/{path}", HTTP_HOST=HOST)
        assert answer.status_code == 200, path
        found: str = answer.content.decode().replace("&#x27;", "'").replace("&quot;", '"')
        return found

    return read


def test_every_page_is_there_and_links_to_pages_that_are(client: Any, text: Any) -> None:
    links = {href for path in PAGES for href in re.findall(r'href="(/[^"#]*)', text(path))}
    assert {f"/docs/{path}" for path in PAGES if "?" not in path} <= links
    assert "/portal/keys/issue/" in links
    for link in links - {"/portal/", "/admin/"}:
        assert client.get(link, HTTP_HOST=HOST).status_code in (200, 302), link
    assert client.get("/docs/nowhere/", HTTP_HOST=HOST).status_code == 404
    assert client.get("/docs", HTTP_HOST=HOST)["Location"] == "/docs/"


def test_nothing_comes_from_anywhere_else(client: Any, text: Any) -> None:
    for path in PAGES:
        answer = client.get(f"/docs/{path}", HTTP_HOST=HOST)
        assert "default-src 'self'" in answer["Content-Security-Policy"]
        for source in re.findall(r'(?:src|href)="([^"]+)"', text(path)):
            assert source.startswith(("/", "#")), (path, source)


def test_snippets_name_the_readers_host(client: Any, db: None) -> None:
    page = client.get("/docs/", HTTP_HOST="localhost:9123").content.decode()
    for step in ("read-sh", "read-python", "read-ts", "read-go"):
        snippet = page.partition(f'id="text-{step}">')[2].partition("</code>")[0]
        assert "http://localhost:9123" in snippet and "8000" not in snippet, step
    for path in [f"guides/{name}/" for name in ("first-transaction", "read-the-past")]:
        page = client.get(f"/docs/{path}", HTTP_HOST="localhost:9123").content.decode()
        assert "http://localhost:9123" in page and "127.0.0.1:8000" not in page


def test_limits_are_those_of_the_tiers_as_they_are_now(text: Any) -> None:
    Tier.objects.filter(name="ultra").update(requests_per_second=1234, bundles_per_second=None)
    Tier.objects.create(name="vip", rank=70, requests_per_second=None, calls_per_month=5_000_000)
    page = text("limits/")
    ultra = page.partition("<td>ultra</td>")[2].partition("</tr>")[0]
    assert "1,234" in ultra and "no limit" in ultra and f"ultra.qos.{settings.DOMAIN}" in ultra
    vip = page.partition("<td>vip</td>")[2].partition("</tr>")[0]
    assert "5,000,000" in vip and "none of its own" in vip
    assert 'no limit<span class="hint"> by the tier, see below' in ultra
    assert 'left of it are in the portal under <a href="/portal/limits/">' in page
    Tier.objects.all().delete()
    assert "There are no tiers" in text("limits/")


def test_the_number_of_queries_does_not_grow(
    client: Any, db: None, django_assert_max_num_queries: Any
) -> None:
    Tier.objects.bulk_create(Tier(name=f"tier-{n}", rank=n) for n in range(50))
    for path in PAGES:
        samples.forget()
        with django_assert_max_num_queries(8):
            client.get(f"/docs/{path}", HTTP_HOST=HOST)


def test_webhooks_are_documented_with_every_kind_and_member(text: Any) -> None:
    page = text("webhooks/")
    for kind in KINDS.values():
        if kind.audience is Audience.CUSTOMER:
            row = page.partition(f'<tr id="{kind.name}">')[2].partition("</tr>")[0]
            assert row and all(f"<code>{name}</code>" in row for name in kind.fields), kind.name
    assert "…" not in page.partition("<pre")[2].partition("</pre>")[0].replace("Ab12…x9Yz", "")


def test_the_snippet_that_verifies_a_webhook_does(text: Any) -> None:
    page = text("webhooks/")
    source = (Path(reference.__file__).parent / "texts" / "verify_webhook.txt").read_text()
    assert source.splitlines()[0] in re.sub("<[^>]+>", "", page)
    names: dict[str, Any] = {}
    exec(source, names)
    is_ours = names["is_ours"]
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
    other = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
    body = json.dumps({"type": "test", "data": {"about": "é"}})

    def headers(*signing: str, at: float) -> dict[str, str]:
        from datetime import UTC, datetime

        moment = datetime.fromtimestamp(at, UTC)
        signatures = [Webhook(each).sign("msg_1", moment, body) for each in signing]
        return {
            "webhook-id": "msg_1",
            "webhook-timestamp": str(int(at)),
            "webhook-signature": " ".join(signatures),
        }

    now = time.time()
    assert is_ours(secret, headers(secret, at=now), body.encode())
    assert is_ours(secret, headers(other, secret, at=now), body.encode())
    assert not is_ours(other, headers(secret, at=now), body.encode())
    assert not is_ours(secret, headers(secret, at=now), body.encode() + b" ")
    assert not is_ours(secret, headers(secret, at=now - 900), body.encode())


def test_the_console_offers_every_method(text: Any) -> None:
    page = text("console/")
    for at in rpc_paths():
        if at.path.count("/") == 1:
            for method in at.methods:
                assert f'value="{at.path} {method.name}"' in page
    for name in settings.PROXY_METHODS:
        assert f'value="/ {name}"' in page


def test_a_key_is_never_part_of_a_page(client: Any, api_key: str) -> None:
    for path in ("console/", "historical/"):
        answer = client.get(f"/docs/{path}?api_key={api_key}", HTTP_HOST=HOST)
        assert api_key not in answer.content.decode()


def test_the_changelog_keeps_its_form() -> None:
    """Keep a Changelog's: what is unreleased, then each version with its day, newest first."""
    text = (settings.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert unreleased == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - 2\d{3}-\d\d-\d\d", each) for each in releases]
    assert found and all(found), f"write `## [X.Y.Z] - YYYY-MM-DD`: {releases}"
    versions = [tuple(map(int, each.groups())) for each in found if each]
    assert versions == sorted(set(versions), reverse=True)
    assert versions[0] == tuple(map(int, settings.VERSION.split("."))), "name the version's changes"
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_is_the_repositorys(text: Any) -> None:
    lines = (settings.ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heading = next(line for line in lines if line.startswith("### "))
    assert f">{heading.removeprefix('### ')}</h3>" in text("changelog/")
