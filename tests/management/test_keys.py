"""API keys by the management API, from issuing to revoking."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.management.conftest import Api

Root = Callable[..., Api]
RULE = {"trigger": "account", "condition": {"address": "1" * 32}}


@pytest.fixture
def basic(tier: Callable[..., Any]) -> Any:
    return tier("basic", 10)


@pytest.fixture
def key(root: Root, ada: Any, basic: Any) -> dict[str, Any]:
    """One of Ada's keys, issued by a root key."""
    sent = {"customer": ada.pk, "tier": "basic", "name": "trading"}
    answer = root().post("keys", sent)
    assert answer.status_code == 201, answer.data
    return dict(answer.data)


def calls_of(client: Any, secret: str) -> int:
    """The status of a call with the key."""
    from access import key_cache

    key_cache.forget()  # a test's transaction never commits, so nothing is announced
    body = {"jsonrpc": "2.0", "id": 1, "method": "getHealth", "params": []}
    answer = client.post(
        "/", body, content_type="application/json", headers={"Authorization": secret}
    )
    return int(answer.status_code)


def verbs() -> list[str]:
    from staff.models import AuditEntry

    return list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))


def test_a_key_is_issued_with_its_secret_shown_once(
    root: Root, client: Any, key: dict[str, Any], ada: Any
) -> None:
    from staff.models import AuditEntry

    assert key["customer"] == ada.pk
    assert (key["tier"], key["state"], key["name"]) == ("basic", "active", "trading")
    assert key["secret"].startswith(key["prefix"]) and key["secret"].endswith(key["lastFour"])
    assert calls_of(client, key["secret"]) == 200
    again = root().get(f"keys/{key['id']}")
    assert again.data == {name: value for name, value in key.items() if name != "secret"}
    entry = AuditEntry.objects.get(verb="issued")
    assert entry.who.startswith("root key robot (tmr_")
    assert (entry.subject_type, entry.subject_id) == ("access.apikey", str(key["id"]))


def test_lists_are_paged_and_filtered(root: Root, ada: Any, eve: Any, basic: Any) -> None:
    api = root()
    for number in range(5):
        owner = eve if number == 2 else ada
        sent = {"customer": owner.pk, "tier": "basic", "name": f"key {number}"}
        assert api.post("keys", sent).status_code == 201
    first = api.get("keys?limit=2").data
    assert [each["name"] for each in first["results"]] == ["key 4", "key 3"]
    second = api.get("keys?" + first["next"].partition("?")[2]).data
    assert [each["name"] for each in second["results"]] == ["key 2", "key 1"]
    assert second["previous"] is not None
    assert [each["name"] for each in api.get(f"keys?customer={eve.pk}").data["results"]] == [
        "key 2"
    ]
    assert len(api.get("keys?name=KEY&tier=basic&state=active").data["results"]) == 5
    assert api.get("keys?state=revoked").data["results"] == []
    for query in (
        "customer=x",
        "customer=1.5",
        f"customer={2**70}",
        "state=odd",
        "cursor=x",
        "cursor=cD14",
        "custommer=1",
        f"customer={ada.pk}&customer={eve.pk}",
        "limit=0",
        "limit=-1",
        "limit=501",
        "limit=many",
        "limit=",
        "limit=1&limit=2",
    ):
        answer = api.get(f"keys?{query}")
        assert (answer.status_code, answer.data["error"]) == (400, "invalid_fields"), query
    assert api.get("keys?limit=501").data["fields"] == {"limit": ["A number from 1 to 500."]}
    assert len(api.get("keys?limit=500").data["results"]) == 5
    misspelled = api.get("tiers?nam=x").data["fields"]
    assert misspelled == {"nam": ["Unknown parameter."]}


def test_a_change_needs_the_version_that_it_changes(root: Root, key: dict[str, Any]) -> None:
    api, path = root(), f"keys/{key['id']}"
    version = api.get(path).headers["ETag"]
    missing = api.call("PATCH", path, {"name": "x"})
    assert (missing.status_code, missing.data["error"]) == (428, "version_required")
    changed = api.change(path, {"name": "sniping", "scopes": ["rewind", "priority"]})
    assert changed.status_code == 200
    assert (changed.data["name"], changed.data["scopes"]) == ("sniping", ["priority", "rewind"])
    assert changed.headers["ETag"] == api.get(path).headers["ETag"] != version
    late = api.change(path, {"name": "late"}, If_Match=version)
    assert (late.status_code, late.data["error"]) == (412, "version_changed")
    assert late.data["required"] == changed.headers["ETag"]
    assert api.post(f"{path}/suspend", If_Match=version).status_code == 412
    assert api.get(path).data["name"] == "sniping"
    assert api.change(path, {"name": "any"}, If_Match="*").status_code == 200


def test_use_of_a_key_does_not_change_its_version(root: Root, key: dict[str, Any]) -> None:
    from access import store

    api, path = root(), f"keys/{key['id']}"
    version = api.get(path).headers["ETag"]
    store.mark_used([(key["id"], timezone.now(), "192.0.2.1")])
    found = api.get(path)
    assert found.data["lastUsedAddress"] == "192.0.2.1"
    assert found.headers["ETag"] == version


BAD = [
    ({"nam": "x"}, "nam", "Unknown field."),
    ({"name": ""}, "name", "This field may not be blank."),
    ({"name": "a\u0000b"}, "name", "Null characters are not allowed."),
    ({"tier": "none"}, "tier", "Object with name=none does not exist."),
    ({"scopes": ["all"]}, "scopes", '"all" is not a valid choice.'),
    ({"scopes": ["\ud800"]}, "scopes", '"?" is not a valid choice.'),
    ({"requestsPerSecond": 0}, "requestsPerSecond", "greater than or equal to 0.01"),
    ({"callsPerMonth": 0}, "callsPerMonth", "greater than or equal to 1"),
    ({"callsPerMonth": 2**70}, "callsPerMonth", "less than or equal to"),
    ({"expiresAt": "tomorrow"}, "expiresAt", "Datetime has wrong format."),
    ([1], "request", "Expected a dictionary"),
    (7, "request", "Expected a dictionary"),
]


@pytest.mark.parametrize(("body", "field", "text"), BAD, ids=lambda each: str(each)[:40])
def test_a_bad_body_is_refused_by_its_fields(
    root: Root, key: dict[str, Any], body: Any, field: str, text: str
) -> None:
    api, path = root(), f"keys/{key['id']}"
    before = api.get(path).data
    answer = api.change(path, body)
    assert (answer.status_code, answer.data["error"]) == (400, "invalid_fields"), answer.data
    assert text in str(answer.data["fields"][field])
    assert api.get(path).data == before


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_body_may_be_nested_without_end(root: Root, ada: Any, depth: int) -> None:
    api = root()
    nested = b"[" * depth + b"]" * depth
    body = b'{"customer": %d, "name": "x", "trigger": "program", "mails": true,' % ada.pk
    body += b'"condition": {"program": "%b", "filters": [%b]}}' % (b"1" * 32, nested)
    headers = {"Authorization": f"Bearer {api.secret}"}
    answer = Client(raise_request_exception=False).post(
        "/manage/v1/rules", body, "application/json", headers=headers
    )
    assert answer.status_code in (400, 409), answer.content
    if depth > 1_000:
        assert answer.json()["error"] == "body_malformed"
        assert "nested too deep" in answer.json()["found"]


def test_what_the_services_refuse_is_a_conflict(root: Root, key: dict[str, Any], ada: Any) -> None:
    api, path = root(), f"keys/{key['id']}"
    for body in (
        {"networks": ["house"]},
        {"methods": ["no method"]},
        {"origins": ["house"]},
        {"expiresAt": "2020-01-01T00:00:00Z"},
    ):
        answer = api.change(path, body)
        assert (answer.status_code, answer.data["error"]) == (409, "action_refused"), answer.data
    refused = "'getBlok' is not a method of this service: did you mean getBlock"
    for name, wrong, problems in (
        (
            "methods",
            ["getBlok", "getSlot", "no"],
            [refused, "'no' is not a method of this service"],
        ),
        ("networks", ["house", "::1", "10/8"], ["'house' does not appear", "'10/8' does not"]),
        ("origins", ["house", "https://a.example", "x"], ["'house' is not an", "'x' is not an"]),
    ):
        message = api.change(path, {name: wrong}).data["message"]
        assert all(
            part.startswith(p) for part, p in zip(message.split("; "), problems, strict=True)
        )
    assert api.post(f"{path}/overlap/end").status_code == 409
    assert api.post(f"{path}/revoke").data["state"] == "revoked"
    assert "was revoked" in api.change(path, {"name": "x"}).data["message"]
    assert api.post(f"{path}/rotate", {}).status_code == 409
    missing = api.post("keys", {"name": "x"})
    assert missing.data["fields"].keys() == {"customer", "tier"}
    assert missing.status_code == 400


def test_an_expiry_is_in_the_future(root: Root, token: Root, key: dict[str, Any], ada: Any) -> None:
    from access.models import ApiKey

    past = (timezone.now() - timedelta(minutes=1)).isoformat()
    sent = {"customer": ada.pk, "tier": "basic", "name": "late", "expiresAt": past}
    for api, body in ((root(), sent), (token(ada), {"name": "late", "expiresAt": past})):
        refused = api.post("keys", body)
        assert (refused.status_code, refused.data["error"]) == (409, "action_refused")
        assert "the expiry is past" in refused.data["message"]
    assert not ApiKey.objects.filter(name="late").exists() and verbs() == ["issued"]
    ApiKey.objects.filter(pk=key["id"]).update(expires_at=past)
    rotated = root().post(f"keys/{key['id']}/rotate", {})
    assert rotated.status_code == 409 and "has expired" in rotated.data["message"]


def test_a_rotation_overlaps(root: Root, client: Any, key: dict[str, Any]) -> None:
    api, path = root(), f"keys/{key['id']}"
    answer = api.post(f"{path}/rotate", {"overlapHours": 2})
    assert answer.status_code == 201
    new = answer.data
    assert new["rotatedFrom"] == key["id"] and new["secret"] != key["secret"]
    old = api.get(path).data
    assert old["rotatedTo"] == new["id"]
    soon = (timezone.now() + timedelta(hours=2, minutes=1)).isoformat()
    assert timezone.now().isoformat() < old["expiresAt"] < soon
    later = api.post(f"{path}/overlap/extend", {"moreHours": 3}).data
    assert later["expiresAt"] > old["expiresAt"]
    assert {calls_of(client, each["secret"]) for each in (key, new)} == {200}
    assert api.post(f"{path}/overlap/end").data["state"] == "expired"
    assert (calls_of(client, key["secret"]), calls_of(client, new["secret"])) == (401, 200)
    assert verbs()[-4:] == [
        "rotated",
        "issued",
        "extended the overlap of",
        "ended the overlap of",
    ]


def test_an_overlap_does_not_pass_the_end_of_the_calendar(root: Root, key: dict[str, Any]) -> None:
    from access.models import ApiKey

    api, path = root(), f"keys/{key['id']}"
    api.post(f"{path}/rotate", {"overlapHours": 2})
    end = timezone.now().replace(year=9999, month=12, day=31)
    ApiKey.objects.filter(pk=key["id"]).update(expires_at=end)
    answer = api.post(f"{path}/overlap/extend", {"moreHours": 2_000})
    assert (answer.status_code, answer.data["error"]) == (400, "invalid_fields")


def test_suspending_and_revoking(root: Root, client: Any, key: dict[str, Any]) -> None:
    api, path = root(), f"keys/{key['id']}"
    for verb, state, status in (
        ("suspend", "suspended", 403),
        ("suspend", "suspended", 403),
        ("resume", "active", 200),
        ("revoke", "revoked", 401),
    ):
        assert api.post(f"{path}/{verb}").data["state"] == state
        assert calls_of(client, key["secret"]) == status
    assert verbs()[-3:] == ["suspended", "resumed", "revoked"], "the second one changed nothing"


def test_a_repeated_request_takes_effect_once(root: Root, ada: Any, basic: Any) -> None:
    from access.models import ApiKey
    from management.models import KeptResponse

    api = root()
    sent = {"customer": ada.pk, "tier": "basic", "name": "once"}
    first = api.post("keys", sent, Idempotency_Key="a-1")
    again = api.post("keys", sent, Idempotency_Key="a-1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.data == first.data and again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert ApiKey.objects.filter(name="once").count() == 1
    assert verbs().count("issued") == 1
    other = api.post("keys", {**sent, "name": "twice"}, Idempotency_Key="a-1")
    assert (other.status_code, other.data["error"]) == (422, "idempotency_key_reused")
    # Another key's names are its own.
    assert root().post("keys", sent, Idempotency_Key="a-1").data["id"] != first.data["id"]
    kept = KeptResponse.objects.filter(name="a-1").first()
    assert kept is not None and first.data["secret"].encode() not in bytes(kept.sealed)
    assert api.post("keys", sent, Idempotency_Key="x" * 256).status_code == 400


def test_a_refused_request_may_be_sent_again(root: Root, ada: Any, basic: Any) -> None:
    api = root()
    sent = {"customer": ada.pk, "tier": "basic", "name": "x", "networks": ["house"]}
    assert api.post("keys", sent, Idempotency_Key="b").status_code == 409
    assert api.post("keys", {**sent, "networks": []}, Idempotency_Key="b").status_code == 201


def test_kept_responses_are_forgotten_after_a_day(root: Root, ada: Any, basic: Any) -> None:
    from management.models import KeptResponse
    from management.services import repeats

    sent = {"customer": ada.pk, "tier": "basic", "name": "x"}
    root().post("keys", sent, Idempotency_Key="c")
    assert repeats.forget(now=timezone.now() + timedelta(hours=23)) == 0
    assert repeats.forget(now=timezone.now() + timedelta(hours=25)) == 1
    assert not KeptResponse.objects.exists()


def test_a_customers_token_stays_within_what_staff_gave(
    root: Root, token: Root, client: Any, key: dict[str, Any], ada: Any, eve: Any
) -> None:
    from staff.models import AuditEntry

    api, path = token(ada), f"keys/{key['id']}"
    staff = root()
    staff.change(path, {"scopes": ["historical", "rewind"], "notes": "pays late"})
    assert "notes" not in api.get(path).data
    issued = api.post("keys", {"name": "own"})
    assert issued.status_code == 201, issued.data
    assert issued.data["scopes"] == ["rewind", "historical"]
    assert (issued.data["tier"], issued.data["customer"]) == ("basic", ada.pk)
    assert calls_of(client, issued.data["secret"]) in (200, 403)
    assert AuditEntry.objects.latest("pk").who.startswith(f"owner-{ada.pk}@example.org by token")
    for body in ({"name": "x", "customer": eve.pk}, {"name": "x", "tier": "basic"}):
        assert api.post("keys", body).status_code == 400
    for body in ({"tier": "basic"}, {"callsPerMonth": None}, {"notes": ""}):
        assert api.change(path, body).status_code == 400
    more = api.change(path, {"scopes": ["bundle"]})
    assert (more.status_code, more.data["error"]) == (409, "action_refused")
    assert api.change(path, {"scopes": ["rewind"]}).data["scopes"] == ["rewind"]
    assert api.post(f"{path}/rotate", {"overlapHours": 24 * 60}).status_code == 409
    staff.post(f"{path}/suspend")
    assert api.post(f"{path}/resume").status_code == 409


def test_a_customer_finds_no_other_ones_keys(
    token: Root, key: dict[str, Any], ada: Any, eve: Any
) -> None:
    api, path = token(eve), f"keys/{key['id']}"
    assert api.get("keys").data["results"] == []
    assert api.get(f"keys?customer={ada.pk}").data["results"] == []
    assert api.post("keys", {"name": "x", "like": key["id"]}).status_code == 404
    for answer in (
        api.get(path),
        api.change(path, {"name": "x"}),
        *(api.post(f"{path}/{verb}", {}) for verb in ("rotate", "suspend", "resume", "revoke")),
    ):
        assert (answer.status_code, answer.data["error"]) == (404, "not_found")
    assert token(ada).get(path).data["state"] == "active"


@pytest.mark.django_db(transaction=True)
def test_requests_that_repeat_another_at_once_take_effect_once(
    root: Root, ada: Any, basic: Any
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections

    from access.models import ApiKey

    api = root()
    sent = {"customer": ada.pk, "tier": "basic", "name": "once"}

    def issue(_number: int) -> Any:
        try:
            return Api(api.secret).post("keys", sent, Idempotency_Key="race")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(issue, range(6)))
    assert {each.status_code for each in answers} == {201}
    assert len({each.data["secret"] for each in answers}) == 1
    assert ApiKey.objects.filter(name="once").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_one_is_refused(root: Root, ada: Any, basic: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections

    api = root()
    made = api.post("keys", {"customer": ada.pk, "tier": "basic", "name": "x"})
    path, version = f"keys/{made.data['id']}", made.headers["ETag"]

    def change(number: int) -> Any:
        try:
            return Api(api.secret).change(path, {"name": f"name {number}"}, If_Match=version)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(change, range(6)))
    assert sorted(each.status_code for each in answers) == [200, 412, 412, 412, 412, 412]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["customers", "tiers", "webhooks"])
def test_what_is_deleted_while_it_gets_a_row_is_refused_to_one_of_them(
    root: Root, ada: Any, basic: Any, what: str
) -> None:
    """Each locks rows and then the audit log: none waits for one that waits for it."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections

    api = root()

    def one(job: tuple[str, str, Any]) -> int:
        method, path, body = job
        try:
            return int(Api(api.secret).call(method, path, body).status_code)
        finally:
            connections.close_all()

    for number in range(5):
        name = f"short-{number}"
        more = {
            "customers": {},
            "tiers": {"rank": 100 + number},
            "webhooks": {"url": "http://127.0.0.1:9/", "customer": ada.pk},
        }[what]
        row = api.post(what, {"name": name, **more}).data["id"]
        place, body = {
            "customers": ("keys", {"customer": row, "tier": "basic"}),
            "tiers": ("keys", {"customer": ada.pk, "tier": name}),
            "webhooks": ("rules", {"customer": ada.pk, "webhook": row, **RULE}),
        }[what]
        jobs = [("POST", place, {**body, "name": "x"}), ("DELETE", f"{what}/{row}", None)] * 4
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(one, jobs)) <= {201, 204, 400, 404, 409}


def test_origins_rate_and_creator_are_those_of_the_portal(
    root: Root, token: Callable[..., Api], key: dict[str, Any], ada: Any
) -> None:
    assert key["createdBy"].startswith("root key robot (tmr_")
    api, path = token(ada), f"keys/{key['id']}"
    assert api.get(path).data["createdBy"] is None, "customers are not told who of the staff"
    wish = {"origins": ["https://App.example/"], "methods": ["getSlot"], "requestsPerSecond": 2.5}
    changed = api.change(path, wish).data
    assert (changed["origins"], changed["methods"]) == (["https://app.example"], ["getSlot"])
    assert changed["requestsPerSecond"] == 2.5
    above = api.change(path, {"requestsPerSecond": 1e5})
    assert (above.status_code, above.data["error"]) == (409, "action_refused")
    issued = api.post("keys", {"name": "second", "requestsPerSecond": 1}).data
    assert issued["createdBy"].partition(" by token ")[0] == f"owner-{ada.pk}@example.org"
    assert (issued["requestsPerSecond"], issued["methods"]) == (1, [])
    assert root().change(path, {"origins": [], "requestsPerSecond": None}).data["origins"] == []


def test_a_developer_does_everything_to_keys_and_nothing_else(
    token: Callable[..., Api], member: Callable[..., Any], key: dict[str, Any], ada: Any
) -> None:
    from management.scopes import scopes_of

    developer = member(ada, "developer")
    api = token(ada, *scopes_of("developer"), member=developer)
    assert api.post("keys", {"name": "mine"}).status_code == 201
    rotated = api.post(f"keys/{key['id']}/rotate", {"overlapHours": 1})
    assert rotated.status_code == 201
    assert api.get("usage").status_code == 200
    invited = api.post("members", {"email": "x@ada.example", "role": "reader"})
    assert (invited.status_code, invited.data["error"]) == (403, "scope_missing")
