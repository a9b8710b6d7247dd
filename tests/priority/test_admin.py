"""The admin's pages on landing, as a browser's requests."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.pubkey import Pubkey

from priority.models import Submission
from priority.reports.services import counting
from priority.upstreams import store as upstream_store
from priority.upstreams.models import BreakerOpening, Upstream
from priority.upstreams.services import actions
from staff.models import AuditEntry
from tests.priority.landed_samples import fill_landing
from tests.priority.test_landing_counts import mark_all
from tests.rewind.test_audit_admin import text_of
from tests.tipping.tipped_samples import fill_tipping

SUBMISSIONS = "/admin/priority/submission/"
BUNDLES = "/admin/priority/bundle/"
UPSTREAMS = "/admin/priority/upstream/"
NODE = {
    "name": "mine",
    "kind": "node",
    "url": "http://node.example:8899",
    "is_enabled": "on",
    "weight": "100",
    "timeout_ms": "2000",
    "own_tip_lamports": "0",
}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def ids(issue: Callable[..., Any]) -> dict[str, Any]:
    return fill_landing(timezone.now(), key=issue().key)


# --- submissions ---


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("nonce_closed: in slot 7", "Sign with another nonce or a recent blockhash"),
        ("nonce_moved: in slot 7", "Read the nonce account again"),
        ("blockhash_expired: at height 7", "Sign with a newer blockhash"),
        ("never_sent", "No lander sent it in time"),
        ("no_slot: none", "It can no longer land: sign it again"),
        ("engine_untipped: none", "Add a transfer to an address of the engine"),
    ],
)
def test_a_fate_has_the_advice_of_its_reason(
    admin_client: Any, ids: dict[str, Any], reason: str, told: str
) -> None:
    """The portal's own, unless the operator can do more."""
    pk = ids["refused"]
    Submission.objects.filter(pk=pk).update(state="expired", reason=reason)
    assert told in text_of(admin_client, f"{SUBMISSIONS}{pk}/change/")


def test_submissions_are_listed_found_and_narrowed(
    admin_client: Any, ids: dict[str, Any], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(12):
        text = text_of(admin_client, SUBMISSIONS)
    for told in (">landed, processed<", ">landed<", ">refused<", "test (tmk_", "1,250,000", "now"):
        assert told in text
    found = text_of(admin_client, SUBMISSIONS, q=ids["signature"])
    assert found.count('class="action-select"') in (0, 1)
    assert f"{SUBMISSIONS}{ids['landed']}/change/" in found
    assert f"{SUBMISSIONS}{ids['refused']}/change/" not in found
    assert "Nothing found" in text_of(admin_client, SUBMISSIONS, q="no signature")
    for query in ({"state": "refused"}, {"kind": "transaction"}, {"tier": "basic"}):
        assert f"{SUBMISSIONS}{ids['refused']}/change/" in text_of(
            admin_client, SUBMISSIONS, **query
        )
    key = Submission.objects.get(pk=ids["refused"]).key_id
    mine = text_of(admin_client, SUBMISSIONS, key=str(key))
    assert f"{SUBMISSIONS}{ids['refused']}/change/" in mine
    assert f"{SUBMISSIONS}{ids['sweep']}/change/" not in mine


def test_no_list_counts_or_sorts_the_whole_table(
    admin_client: Any, ids: dict[str, Any], django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for path in (SUBMISSIONS, BUNDLES):
        for query in ({}, {"state": "expired"}, {"p": "2"}):
            with CaptureQueriesContext(
                connection,
            ) as caught:
                text_of(admin_client, path, **query)
            asked = [each["sql"] for each in caught if "priority_" in each["sql"]]
            asked = [sql for sql in asked if "priority_upstream" not in sql]  # a handful
            assert asked
            for sql in asked:
                assert "COUNT(*)" not in sql
                bounded = "LIMIT" in sql or "MAX(" in sql or " IN (" in sql
                assert bounded, sql


def test_a_submission_tells_its_fate_and_every_try(admin_client: Any, ids: dict[str, Any]) -> None:
    page = text_of(admin_client, f"{SUBMISSIONS}{ids['landed']}/change/")
    for told in (
        "Landed in slot 332254855, transaction 7, 1 slot after acceptance (finalized).",
        ids["signature"],
        "203.0.113.7:8009",
        "Blockhash not found (-32002)",
        "+402.4 ms",
        "block height 311000150",
        "+2.4 ms",
    ):
        assert told in page
    assert "_save" not in page
    refused = text_of(admin_client, f"{SUBMISSIONS}{ids['refused']}/change/")
    assert "no upstream accepted it. Reason: refused by all" in refused
    failed = text_of(admin_client, f"{SUBMISSIONS}{ids['failed']}/change/")
    assert "6001" in failed and "asks for no units" not in failed
    Submission.objects.filter(pk=ids["failed"]).update(will_fail="it asks for no units")
    failed = text_of(admin_client, f"{SUBMISSIONS}{ids['failed']}/change/")
    assert "it asks for no units" in failed


def test_a_submission_leads_to_the_address_that_it_tips(
    admin_client: Any, ids: dict[str, Any], issue: Callable[..., Any]
) -> None:
    address = fill_tipping(timezone.now(), key=issue().key)["address"]
    page = f"/admin/tipping/tipaddress/{address}/change/"
    assert page not in text_of(admin_client, f"{SUBMISSIONS}{ids['landed']}/change/")
    Submission.objects.filter(pk=ids["landed"]).update(tip_address=Pubkey.from_string(address))
    assert f'href="{page}"' in text_of(admin_client, f"{SUBMISSIONS}{ids['landed']}/change/")
    assert admin_client.get(page).status_code == 200


def test_a_bundle_shows_its_transactions_and_engines(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    listed = text_of(admin_client, BUNDLES)
    assert "bundle tip is too low" in listed
    page = text_of(admin_client, f"{BUNDLES}{ids['bundle']}/change/")
    assert page.count(f'href="{SUBMISSIONS}') >= 3
    assert "engine: " in page


# --- upstreams ---


def test_an_upstream_is_added_and_what_is_wrong_with_it_is_said(admin_client: Any) -> None:
    assert admin_client.post(f"{UPSTREAMS}add/", NODE).status_code == 302
    assert Upstream.objects.get(name="mine").url == "http://node.example:8899"
    wrong = [
        ({"name": "bundle"}, "stands for every block engine"),
        ({"name": "Bundle"}, "stands for every block engine"),
        ({"name": "MINE"}, "There is an upstream named “mine” already"),
        ({"url": "node.example"}, "Expected http://host:port or https://host/path"),
        ({"url": "http://x:99999"}, "Expected http://host:port or https://host/path"),
        ({"url": "grpc://node.example:1"}, "Only block engines are called by gRPC"),
        (
            {"kind": "block_engine", "url": "grpc://node.example:1/path"},
            "grpcs://host:port for a block engine",
        ),
        ({"own_tip_lamports": "5"}, "Only block engines are tipped"),
        ({"weight": "0"}, "greater than or equal to 1"),
        ({"timeout_ms": "1"}, "greater than or equal to 50"),
    ]
    for fields, told in wrong:
        answer = admin_client.post(f"{UPSTREAMS}add/", {**NODE, "name": "other", **fields})
        assert answer.status_code == 200
        assert told in answer.content.decode()
    assert not Upstream.objects.filter(name="other").exists()


def test_an_address_may_be_left_out_only_where_the_chain_has_one(
    admin_client: Any, settings: Any
) -> None:
    settings.UPSTREAM_RPC_URL, settings.LOCALNET = "http://127.0.0.1:8899", False
    assert admin_client.post(f"{UPSTREAMS}add/", {**NODE, "url": ""}).status_code == 302
    engine = {**NODE, "name": "their-engine", "kind": "block_engine", "url": ""}
    answer = admin_client.post(f"{UPSTREAMS}add/", engine).content.decode()
    assert "has no block engine" in answer
    settings.UPSTREAM_RPC_URL = ""
    answer = admin_client.post(f"{UPSTREAMS}add/", {**NODE, "name": "b", "url": ""})
    assert "No node is followed" in answer.content.decode()
    settings.LOCALNET = True
    assert admin_client.post(f"{UPSTREAMS}add/", engine).status_code == 302


def test_breakers_are_shown_and_reset_and_upstreams_switched(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    text = text_of(admin_client, UPSTREAMS)
    for told in ("HTTP status 429", "open for 1 h", ">disabled<", "token-in-the-path.example.org"):
        assert told in text
    assert "very-secret" not in text

    def order(action: str, *pks: int) -> str:
        data = {"action": action, "_selected_action": pks}
        content: bytes = admin_client.post(UPSTREAMS, data, follow=True).content
        return content.decode()

    told = order("reset_breaker", ids["frankfurt"], ids["node"])
    assert "Retrying now: frankfurt." in told
    assert Upstream.objects.get(pk=ids["frankfurt"]).broken_until is None
    assert "Enabled: old." in order("enable", ids["old"], ids["node"])
    assert "Nothing to do: already enabled." in order("enable", ids["old"])
    every = list(Upstream.objects.values_list("pk", flat=True))
    assert "submissions accepted now will expire" in order("disable", *every)
    assert [each.verb for each in AuditEntry.objects.filter(subject="frankfurt")] == [
        "disabled",
        "reset the breaker of",
    ]
    Upstream.objects.filter(pk=ids["node"]).update(
        broken_until=timezone.now() - timedelta(seconds=1)
    )
    assert "half open" in text_of(admin_client, f"{UPSTREAMS}{ids['node']}/change/")


def test_an_upstream_is_drained_and_says_when_it_is(admin_client: Any, ids: dict[str, Any]) -> None:
    data = {"action": "drain", "_selected_action": [ids["node"]]}
    text = admin_client.post(UPSTREAMS, data, follow=True).content.decode()
    assert "No new submissions go to: node." in text
    waiting = Submission.objects.filter(settled_at=None).count()
    assert f"draining, {waiting} in progress" in text
    Submission.objects.filter(settled_at=None).update(state="expired", settled_at=timezone.now())
    assert ">drained<" in text_of(admin_client, UPSTREAMS)
    again = admin_client.post(UPSTREAMS, data, follow=True).content.decode()
    assert "Nothing to do: disabled or drained already." in again
    data["action"] = "enable"
    assert "Enabled: node." in admin_client.post(UPSTREAMS, data, follow=True).content.decode()
    assert Upstream.objects.get(pk=ids["node"]).draining_since is None
    assert AuditEntry.objects.filter(subject="node").count() == 2


def test_an_upstream_tells_what_it_did_and_when_its_breaker_was_open(
    admin_client: Any, ids: dict[str, Any], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    now = timezone.now()
    mark_all()
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    page = f"{UPSTREAMS}{ids['engine']}/change/"
    assert "Never opened." in text_of(admin_client, page)
    for number in range(3):  # two landers tell of one pause after the other
        upstream_store.mark_broken(ids["engine"], until=now, reason=f"trouble {number}", now=now)
    with django_assert_max_num_queries(30):
        text = text_of(admin_client, page)
    for told in ("trouble 2", "still open", "Last error: ", "no answer within 2 s", "24 hours"):
        assert told in text
    assert BreakerOpening.objects.get().times == 3
    upstream_store.mark_broken(ids["engine"], until=None, reason="", now=now)
    upstream_store.mark_broken(ids["engine"], until=now, reason="again", now=now)
    assert actions.reset_breaker(ids["engine"], now=now)
    closed_by = BreakerOpening.objects.order_by("pk").values_list("closed_by", flat=True)
    assert list(closed_by) == ["a try", "staff"]
    listed = text_of(admin_client, UPSTREAMS)
    assert " accepted, " in listed
    assert 'name="action"' in listed  # the list's own actions
    assert 'value="drain"' in text


def test_who_may_only_look_can_give_no_orders(
    client: Any, django_user_model: Any, ids: dict[str, Any]
) -> None:
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    for codename in ("view_upstream", "view_submission"):
        user.user_permissions.add(Permission.objects.get(codename=codename))
    client.force_login(user)
    assert "reset_breaker" not in text_of(client, UPSTREAMS)
    for action in ("disable", "drain", "reset_breaker"):
        client.post(UPSTREAMS, {"action": action, "_selected_action": [ids["frankfurt"]]})
    kept = Upstream.objects.get(pk=ids["frankfurt"])
    assert kept.is_enabled and kept.draining_since is None and kept.broken_until is not None
    page = text_of(client, f"{UPSTREAMS}{ids['frankfurt']}/change/")
    for hidden in ("_save", "very-secret", 'value="drain"'):
        assert hidden not in page
    assert "token-in-the-path.example.org" in page
    assert "Nothing found" in text_of(client, UPSTREAMS, q="very-secret")
    home = text_of(client, "/admin/")
    assert "Submissions in the last 15 minutes" in home
    assert "Tips today" not in home


# --- home ---


def test_home_tells_of_submissions_landers_and_breakers(
    admin_client: Any, ids: dict[str, Any]
) -> None:
    home = text_of(admin_client, "/admin/")
    for told in (
        "none alive",
        "manage.py land",
        "Upstream frankfurt",
        "HTTP status 429",
        "Submissions in the last 15 minutes",
        ">expired<",
        "Tips today",
        "0 lamports",
    ):
        assert told in home


def test_home_tells_of_a_lander_that_is_alive(admin_client: Any) -> None:
    import json
    import time

    from priority.submissions import ACCEPTED_STREAM, FIELD
    from shared_state import heartbeats
    from shared_state.redis_client import NAMESPACE, client

    said = {"inFlight": 1_234, "at": time.time()}
    client().hset(f"{NAMESPACE}landing:landers", "edge-1", json.dumps(said))
    client().xadd(ACCEPTED_STREAM, {FIELD: b"x"})
    heartbeats.beat("lander")
    home = text_of(admin_client, "/admin/")
    assert "1 alive" in home
    assert "edge-1: 1,234 in progress" in home
    assert '<dt>Accepted, not settled yet</dt><dd><span class="tm-word tm-good" title="">1<' in home
