"""Customers, tiers, members, usage, tips, upstreams, webhooks and what operators watch."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.management.conftest import Api

Root = Callable[..., Api]


def entries() -> list[tuple[str, str]]:
    from staff.models import AuditEntry

    return list(AuditEntry.objects.order_by("pk").values_list("verb", "subject"))


def test_a_customers_life(root: Root, tier: Callable[..., Any]) -> None:
    api = root()
    tier("basic", 10)
    made = api.post("customers", {"name": "Ada", "email": "ada@ada.example", "notes": "new"})
    assert made.status_code == 201 and made.data["alertMails"] is True
    path = f"customers/{made.data['id']}"
    assert api.post("customers", {"name": "Ada"}).data["fields"].keys() == {"name"}
    changed = api.change(path, {"alertMails": False})
    assert changed.data == {**made.data, "alertMails": False}
    assert [each["name"] for each in api.get("customers?name=aD").data["results"]] == ["Ada"]
    api.post("keys", {"customer": made.data["id"], "tier": "basic", "name": "x"})
    kept = api.delete(path)
    assert (kept.status_code, kept.data["error"]) == (409, "action_refused")
    other = api.post("customers", {"name": "Eve"}).data["id"]
    assert api.delete(f"customers/{other}").status_code == 204
    assert api.get(f"customers/{other}").status_code == 404
    assert entries()[-1][0] == "deleted" and "Eve" in entries()[-1][1]


def test_a_tiers_life(root: Root, tier: Callable[..., Any], issue: Callable[..., Any]) -> None:
    api = root()
    basic = tier("basic", 10)
    same = api.post("tiers", {"name": "mine", "rank": 10})
    assert same.status_code == 400 and "also that of" in same.data["fields"]["rank"][0]
    none = api.post("tiers", {"name": "mine", "rank": 15, "bundlesPerSecond": 0})
    assert none.status_code == 400 and "Bundles per second: more than 0" in str(none.data)
    made = api.post("tiers", {"name": "mine", "rank": 15, "requestsPerSecond": 2.5})
    assert made.status_code == 201, made.data
    assert (made.data["requestsPerSecond"], made.data["bundlesPerSecond"]) == (2.5, None)
    path = f"tiers/{made.data['id']}"
    assert api.change(path, {"requestsPerSecond": -1}).status_code == 400
    assert api.change(path, {"requestsPerSecond": 1e400}).status_code == 400
    changed = api.change(path, {"callsPerMonth": 7, "requestsPerSecond": None})
    assert (changed.data["callsPerMonth"], changed.data["requestsPerSecond"]) == (7, None)
    assert api.delete(path).status_code == 204
    issue(tier=basic)
    assert "1" not in api.get(f"tiers/{basic.pk}").data["name"]
    assert api.delete(f"tiers/{basic.pk}").status_code == 409


def test_members_are_invited_changed_and_removed(
    root: Root, token: Root, member: Callable[..., Any], ada: Any, eve: Any, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    staff, owner = root(), member(ada)
    own = token(ada, member=owner)
    made = staff.post("members", {"customer": ada.pk, "email": "B@ada.example", "role": "reader"})
    assert made.status_code == 201 and made.data["state"] == "invited"
    assert made.data["link"].startswith("http") and made.data["email"] == "b@ada.example"
    path = f"members/{made.data['id']}"
    assert "link" not in own.get(path).data
    assert own.post("members", {"email": "b@ada.example", "role": "owner"}).status_code == 409
    assert own.change(path, {"role": "owner"}).data["role"] == "owner"
    assert own.change(f"members/{owner.pk}", {"role": "reader"}).status_code == 409
    assert own.post(f"{path}/invite").data["link"] != made.data["link"]
    assert own.post(f"{path}/deactivate").status_code == 409
    assert staff.post(f"{path}/deactivate").data["state"] == "deactivated"
    assert staff.post(f"{path}/activate").data["state"] == "invited"
    assert own.post("members", {"customer": eve.pk, "email": "c@a.example"}).status_code == 400
    assert own.delete(path).status_code == 204
    assert own.delete(f"members/{owner.pk}").status_code == 409
    verbs = [verb for verb, _subject in entries()]
    assert verbs == [
        "invited",
        "changed",
        "invited again",
        "deactivated",
        "activated",
        "deleted",
    ]


def test_a_members_way_to_sign_in_is_reset(
    root: Root, token: Root, member: Callable[..., Any], ada: Any, settings: Any
) -> None:
    from django.test import Client

    from portal.services import members
    from staff import second_factor
    from staff.models import App, ProviderAccount

    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    staff, owner = root(), member(ada)
    own, path = token(ada, member=owner), f"members/{owner.pk}"
    for call in ("password-link", "second-factor/reset", "provider/unbind", "sign-out"):
        refused = own.post(f"{path}/{call}")
        assert refused.status_code == 409 and "Only the operator" in refused.data["message"]
    invited = staff.post(f"{path}/password-link")
    assert invited.status_code == 409 and "no password yet" in invited.data["message"]
    members.choose_password(owner.user, "a long enough password")
    made = staff.post(f"{path}/password-link")
    assert made.status_code == 200 and made.data["state"] == "active"
    assert Client().get("/" + made.data["link"].split("/", 3)[3]).status_code == 200

    assert staff.post(f"{path}/second-factor/reset").status_code == 409, "there is none"
    assert staff.post(f"{path}/provider/unbind").status_code == 409, "none is bound"
    ProviderAccount.objects.create(user=owner.user, issuer="https://id.example", subject="ada")
    assert staff.post(f"{path}/provider/unbind").status_code == 200
    assert not owner.user.provider_accounts.exists()
    App.new(owner.user, confirmed=True)
    second_factor.renew_recovery_codes(owner.user)
    assert staff.get(path).data["hasSecondFactor"] is True
    reset = staff.post(f"{path}/second-factor/reset")
    assert reset.status_code == 200 and reset.data["hasSecondFactor"] is False
    assert not second_factor.has_device(owner.user)
    assert second_factor.recovery_codes_left(owner.user) == 0

    browser = Client()
    browser.login(username=owner.user.username, password="a long enough password")
    assert browser.get("/portal/").status_code == 200
    assert staff.post(f"{path}/sign-out").status_code == 200
    assert browser.get("/portal/").status_code == 302
    assert [verb for verb, _subject in entries()] == [
        "made a password link",
        "unbound from the provider",
        "reset the second factor",
        "signed in",
        "signed out everywhere",
    ]


@pytest.fixture
def used(root: Root, tier: Callable[..., Any], ada: Any, eve: Any) -> dict[str, int]:
    """A key of each, with calls in this hour: {name of the customer: id of the key}."""
    from access.models import KeyDay, KeyHour, UsageDay, UsageHour, UsageMinute
    from access.services import keys

    basic, found = tier("basic", 10), {}
    minute = timezone.now().replace(second=0, microsecond=0)
    hour = minute.replace(minute=0)
    for customer, calls in ((ada, 7), (eve, 5)):
        key = keys.issue_key(customer, tier=basic, name="x").key
        row = {"key": key, "method": "getSlot", "status": "ok", "calls": calls}
        UsageMinute.objects.create(**row, minute=minute, microseconds=1_000 * calls)
        UsageDay.objects.create(**row, day=minute.date(), microseconds=1_000 * calls)
        counts = {"calls": calls, "ok": calls, "counted": calls}
        KeyHour.objects.create(key=key, hour=hour, **counts)
        KeyDay.objects.create(key=key, day=minute.date(), **counts)
        found[customer.name] = key.pk
    UsageHour.objects.create(method="getSlot", status="ok", hour=hour, calls=12)
    return found


def test_usage_is_read_by_key_method_and_time(
    root: Root, token: Root, used: dict[str, int], ada: Any, eve: Any
) -> None:
    staff, own = root(), token(ada)
    every = staff.get("usage?span=24h").data
    assert every["counts"] == {"counted": 12, "refused": 0, "failed": 0, "pushed": 0}
    assert {each["key"]: each["counts"]["counted"] for each in every["byKey"]} == {
        used[ada.name]: 7,
        used["Eve"]: 5,
    }
    assert staff.get(f"usage?customer={eve.pk}").data["counts"]["counted"] == 5
    assert staff.get(f"usage?key={used[ada.name]}&method=getSlot").data["counts"]["counted"] == 7
    assert staff.get("usage?method=getBlock").data["counts"]["counted"] == 0
    mine = own.get("usage?span=7d").data
    assert mine["counts"]["counted"] == 7 and len(mine["byKey"]) == 1
    assert mine["methods"][0] == {
        "method": "getSlot",
        "status": "ok",
        "calls": 7,
        "milliseconds": 1.0,
    }
    assert own.get(f"usage?key={used['Eve']}").status_code == 404
    assert own.get(f"usage?customer={eve.pk}").status_code == 400
    assert staff.get(f"usage?key={used['Eve']}&customer={eve.pk}").data["counts"]["counted"] == 5
    for report in ("usage", "usage/csv"):
        other = staff.get(f"{report}?key={used['Eve']}&customer={ada.pk}")
        assert (other.status_code, other.data["error"]) == (404, "not_found")
        for more in (f"key={used['Eve']}", f"customer={eve.pk}"):
            mixed = staff.get(f"{report}?keyless=true&{more}")
            assert mixed.data["fields"] == {"keyless": ["Not with `key` or `customer`."]}
    for query in ("span=1y", "from=now&to=then", "key=x", "kex=1", f"key={2**70}"):
        assert staff.get(f"usage?{query}").status_code == 400, query


def test_usage_as_csv(root: Root, token: Root, used: dict[str, int], ada: Any) -> None:
    answer = token(ada).get("usage/csv?of=rows&span=30d")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [(row["key_id"], row["method"], row["calls"]) for row in rows] == [
        (str(used[ada.name]), "getSlot", "7")
    ]
    assert len(root().get("usage/csv?span=30d").getvalue().decode().splitlines()) == 3
    assert root().get("usage/csv?of=all").status_code == 400
    assert token(ada).get(f"usage/csv?key={used['Eve']}").status_code == 404


def test_usage_is_whole_or_says_that_it_is_not(root: Root, used: dict[str, int], ada: Any) -> None:
    from access.models import KeyHour, UsageMinute
    from access.services import keys

    api = root()
    row, known = UsageMinute.objects.all()[0], KeyHour.objects.all()[0]
    assert row.key is not None and known.key is not None
    UsageMinute.objects.bulk_create(
        UsageMinute(key=row.key, method=f"method{number}", status="ok", minute=row.minute, calls=1)
        for number in range(300)
    )
    every = api.get("usage?span=24h").data
    assert len(every["methods"]) == 301 and every["truncated"] is False
    lines = api.get("usage/csv?of=methods&span=24h").getvalue().decode().splitlines()
    assert len(lines) == 302
    issued = [keys.issue_key(ada, tier=known.key.tier, name="x").key for _ in range(1_000)]
    counts = {"calls": 1, "ok": 1, "counted": 1}
    KeyHour.objects.bulk_create(KeyHour(key=key, hour=known.hour, **counts) for key in issued)
    cut = api.get("usage?span=24h").data
    assert len(cut["byKey"]) == 1_000 and cut["truncated"] is True
    assert [each["counts"]["counted"] for each in cut["byKey"][:3]] == [7, 5, 1]


def test_ttl_classes_and_tips(root: Root) -> None:
    from tipping.models import TtlClass

    api = root()
    TtlClass.objects.all().delete()
    alone = api.post("ttl-classes", {"ttlSeconds": 600, "windowSeconds": 300})
    assert alone.status_code == 409
    first = api.post("ttl-classes", {"ttlSeconds": 600, "windowSeconds": 300, "isDefault": True})
    assert first.status_code == 201, first.data
    sent = {"ttlSeconds": 900, "windowSeconds": 300, "batchSize": 16, "isDefault": True}
    second = api.post("ttl-classes", sent)
    assert second.status_code == 201, second.data
    assert api.get(f"ttl-classes/{first.data['id']}").data["isDefault"] is False
    path = f"ttl-classes/{second.data['id']}"
    assert api.change(path, {"batchSize": 3}).status_code == 400
    assert api.change(path, {"ttlSeconds": 600}).status_code == 400
    assert api.change(path, {"windowSeconds": 60}).data["windowSeconds"] == 60
    assert api.delete(path).status_code == 409, "the default class"
    assert api.post(f"{path}/rotate").status_code == 409, "nothing is prepared"
    assert api.post(f"{path}/prepare").status_code == 200
    assert api.post(f"{path}/rotate").status_code == 200
    assert api.post(f"{path}/sweep").status_code == 409, "nothing has expired"
    assert api.delete(f"ttl-classes/{first.data['id']}").status_code == 204
    assert api.get("tips?kind=tip").data["results"] == []


def test_batches_and_sweeps_of_tips(root: Root) -> None:
    from solders.pubkey import Pubkey
    from solders.signature import Signature

    from tipping.models import TipAddress, TipBatch, TipSweep, TtlClass

    api, now = root(), timezone.now()
    ttl_class = TtlClass.objects.first()
    assert ttl_class is not None
    at = {"opened_at": now, "window_ends_at": now, "expires_at": now, "prepared_at": now}
    of = {"ttl_class": ttl_class, "ttl_seconds": ttl_class.ttl_seconds, "size": 16}
    closed = TipBatch.objects.create(**at, **of, number=1, state="closed", swept_at=now)
    prepared = TipBatch.objects.create(**of, number=2, prepared_at=now)
    listed = api.get(f"tip-batches?ttlClass={ttl_class.pk}&swept=true").data["results"]
    assert [each["number"] for each in listed] == [1]
    path = f"tip-batches/{closed.pk}"
    assert api.post(f"{path}/sweep").data["sweptAt"] is None
    assert api.get("tip-batches?swept=true").data["results"] == []
    refused = api.post(f"tip-batches/{prepared.pk}/sweep")
    assert refused.status_code == 409 and "only closed ones" in refused.data["message"]

    address = TipAddress.objects.create(pubkey=Pubkey.new_unique(), batch=closed, position=0)
    sweep = TipSweep.objects.create(
        **{"signature": Signature.new_unique(), "treasury": Pubkey.new_unique(), "wire": b"x"},
        **{"lamports": 7_000_000, "fee": 5_000, "planned_at": now},
    )
    sweep.parts.create(address=address, lamports=7_000_000)
    (found,) = api.get("tip-sweeps?state=planned").data["results"]
    assert found == api.get(f"tip-sweeps/{sweep.pk}").data
    assert (found["signature"], found["treasury"]) == (str(sweep.signature), str(sweep.treasury))
    assert found["addresses"] == [{"address": str(address.pubkey), "lamports": 7_000_000}]
    assert [verb for verb, _ in entries()] == ["ordered the sweep of"]


def test_an_upstreams_life(root: Root, tier: Callable[..., Any]) -> None:
    api = root()
    tier("basic", 10)
    sent = {"name": "Node-A", "kind": "node", "url": "https://n.example/secret-key/"}
    made = api.post("upstreams", {**sent, "tiers": ["basic"]})
    assert made.status_code == 201, made.data
    assert (made.data["name"], made.data["host"]) == ("node-a", "n.example")
    assert made.data["tiers"] == ["basic"] and "secret-key" not in str(made.data)
    path = f"upstreams/{made.data['id']}"
    for body in (
        {"name": "bundle"},
        {"url": "ftp://x"},
        {"weight": 0},
        {"ownTipLamports": 5},
        {"url": "grpc://x:1"},
        {"tiers": ["none"]},
    ):
        answer = api.change(path, body)
        assert answer.status_code == 400, body
        assert answer.data["fields"].keys() == body.keys()
    assert api.post("upstreams", {**sent, "name": "node-A"}).status_code == 400
    assert api.change(path, {"weight": 7, "tiers": []}).data["tiers"] == []
    assert api.post(f"{path}/drain").data["drainingSince"] is not None
    assert api.post(f"{path}/enable").data["drainingSince"] is None
    assert api.post(f"{path}/disable").data["isEnabled"] is False
    assert api.post(f"{path}/breaker/reset").status_code == 200
    assert api.delete(path).status_code == 204
    assert [verb for verb, _ in entries()] == [
        "added",
        "changed",
        "drained",
        "enabled",
        "disabled",
        "deleted",
    ]


def test_a_version_counts_what_is_not_shown(root: Root, token: Root, ada: Any) -> None:
    """Of a URL only the host is shown, its path may be a secret."""
    for api, resource, more in (
        (token(ada), "webhooks", {}),
        (root(), "upstreams", {"kind": "node"}),
    ):
        made = api.post(resource, {"name": "x", "url": "http://127.0.0.1:9/one", **more})
        path, version = f"{resource}/{made.data['id']}", made.headers["ETag"]
        assert version == api.get(path).headers["ETag"]
        moved = api.change(path, {"url": "http://127.0.0.1:9/two"}, If_Match=version)
        assert moved.status_code == 200 and moved.headers["ETag"] != version
        late = api.change(path, {"url": "http://127.0.0.1:9/three"}, If_Match=version)
        assert (late.status_code, late.data["error"]) == (412, "version_changed")


def test_the_tiers_of_an_upstream_are_in_the_audit_log(
    root: Root, tier: Callable[..., Any]
) -> None:
    from staff.models import AuditEntry

    api = root()
    tier("basic", 10)
    made = api.post("upstreams", {"name": "x", "kind": "node", "url": "http://127.0.0.1:9/"})
    api.change(f"upstreams/{made.data['id']}", {"tiers": ["basic"], "weight": 7})
    api.change(f"upstreams/{made.data['id']}", {"tiers": []})
    changes = AuditEntry.objects.filter(verb="changed").order_by("pk").values_list("changes")
    assert [each for (each,) in changes] == [
        {"weight": [100, 7], "tiers": [[], ["basic"]]},
        {"tiers": [["basic"], []]},
    ]


def test_a_webhooks_life(root: Root, token: Root, ada: Any, eve: Any) -> None:
    own = token(ada)
    sent = {"name": "pager", "url": "http://127.0.0.1:9/secret-path", "kinds": ["key.rotated"]}
    made = own.post("webhooks", sent)
    assert made.status_code == 201, made.data
    assert made.data["secret"].startswith("whsec_") and made.data["customer"] == ada.pk
    path = f"webhooks/{made.data['id']}"
    assert "secret" not in str(own.get(path).data)
    assert own.change(path, {"kinds": ["alarm.opened"]}).status_code == 409, "the staff's"
    assert own.change(path, {"url": "nothing"}).status_code == 409
    assert own.change(path, {"name": "other"}).data["name"] == "other"
    assert own.post(f"{path}/test").status_code == 200
    sent_again = own.get("deliveries?state=waiting").data["results"]
    assert [each["kind"] for each in sent_again] == ["test"]
    delivery = f"deliveries/{sent_again[0]['id']}"
    assert own.post(f"{delivery}/redeliver").data["state"] == "waiting"
    assert own.post(f"{path}/rotate").data["secret"] != made.data["secret"]
    assert own.post(f"{path}/disable").data["isEnabled"] is False
    assert own.post(f"{path}/test").status_code == 409
    assert own.post(f"{path}/enable").data["isEnabled"] is True
    for call in (path, delivery):
        assert token(eve).get(call).status_code == 404
    staffs = root().post("webhooks", {"name": "staff", "url": "http://127.0.0.1:9/"}).data
    assert staffs["customer"] is None
    assert own.get(f"webhooks/{staffs['id']}").status_code == 404
    assert own.delete(path).status_code == 204


@pytest.mark.parametrize("area", ["ledger", "archive"])
def test_gaps_are_listed_retried_and_given_up(root: Root, area: str) -> None:
    from historical.models import Gap as LedgerGap
    from rewind.models import Gap as ArchiveGap

    api, model = root(), LedgerGap if area == "ledger" else ArchiveGap
    gap = model.objects.create(
        **{"from_slot": 5, "to_slot": 9, "status": "missing", "cause": "stream_lost"},
        opened_at=timezone.now(),
    )
    path = f"gaps/{area}/{gap.pk}"
    assert api.get(path).data["state"] == "open"
    assert api.post(f"{path}/give-up").data["state"] == "given_up"
    assert api.post(f"{path}/give-up").status_code == 409
    assert api.get(f"gaps/{area}?state=given_up&slot=7").data["results"][0]["fromSlot"] == 5
    assert api.get(f"gaps/{area}?slot=10").data["results"] == []
    retried = api.post(f"{path}/retry").data
    assert retried["state"] == "open" and retried["nextTryAt"] is not None
    assert retried["history"][-1]["source"].startswith("root key robot")
    assert [verb for verb, _ in entries()] == ["gave up", "ordered a try"]


def test_coverage_is_what_the_methods_say(root: Root, empty_ledger: None) -> None:
    found = root().get("coverage?fromSlot=1&toSlot=9")
    assert found.status_code == 200, found.content
    assert found.data.keys() == {"ledger", "archive"}
    assert root().get("coverage?fromSlot=9&toSlot=1").status_code == 400


def test_an_alarm_is_acknowledged_once(root: Root) -> None:
    from operations.models import Alarm

    api, now = root(), timezone.now()
    alarm = Alarm.objects.create(
        **{"name": "no_upstream", "severity": "critical", "text": "None.", "began_at": now},
        opened_at=now,
    )
    Alarm.objects.create(name="x", severity="warning", text="Not yet one.", began_at=now)
    assert [each["rule"] for each in api.get("alarms?open=true").data["results"]] == ["no_upstream"]
    path = f"alarms/{alarm.pk}/acknowledge"
    assert api.post(path).data["acknowledgedAt"] is not None
    assert api.post(path).status_code == 409
    assert [verb for verb, _ in entries()] == ["acknowledged"]


def test_the_audit_log_is_read_and_whole(root: Root) -> None:

    api = root()
    made = api.post("customers", {"name": "Ada"}).data
    api.change(f"customers/{made['id']}", {"name": "Eve"})
    found = api.get("audit?verb=changed&subjectType=access.customer").data["results"]
    assert [each["changes"] for each in found] == [{"name": ["Ada", "Eve"]}]
    assert api.get("audit?subjectType=access.tier").data["results"] == []
    assert found[0]["who"].startswith("root key robot (tmr_") and len(found[0]["digest"]) == 64
    since = (timezone.now() + timedelta(hours=1)).isoformat().replace("+", "%2B")
    assert api.get(f"audit?since={since}").data["results"] == []
    assert api.post("audit", {}).status_code == 405


def test_submissions_are_read_by_their_customers(
    root: Root, token: Root, issue: Callable[..., Any], eve: Any
) -> None:
    from tests.priority.landed_samples import fill_landing

    key = issue().key
    fill_landing(timezone.now(), key=key, rounds=1, seed=1)
    own, every = token(key.customer), root()
    listed = own.get("submissions?state=landed&limit=500").data["results"]
    assert listed and {each["key"] for each in listed} == {key.pk}
    one = every.get(f"submissions/{listed[0]['id']}").data
    assert one == listed[0] and one["slot"] is not None
    stranger = token(eve)
    assert stranger.get("submissions").data["results"] == []
    assert stranger.get(f"submissions/{one['id']}").status_code == 404
