"""Event rules by the management API: their life, replays, the log, and whose they are."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from alerts.models import Rule
from alerts.services import webhooks
from tests.alerts.conftest import Receiver
from tests.alerts.test_rules import ADDRESS
from tests.management.conftest import Api
from tests.portal.test_rules import work

Root = Callable[..., Api]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOKS_PRIVATE = True
    found = Receiver()
    yield found
    found.stop()


def test_a_rules_life(token: Root, ada: Any, receiver: Receiver) -> None:
    api = token(ada)
    hook = api.post("webhooks", {"name": "pager", "url": receiver.url}).data["id"]
    condition = {"belowPercent": 75, "minutes": 15}
    body = {"name": "share", "trigger": "landing_share", "condition": condition, "webhook": hook}
    made = api.post("rules", body)
    assert made.status_code == 201, made.data
    assert made.data["condition"] == {**condition, "leastSubmissions": 20, "keys": []}
    assert (made.data["customer"], made.data["mails"]) == (ada.pk, False)
    path = f"rules/{made.data['id']}"
    assert api.get(path).data == made.data
    for query in (f"webhook={hook}", "trigger=landing_share", "enabled=true"):
        assert [each["id"] for each in api.get(f"rules?{query}").data["results"]] == [
            made.data["id"]
        ]
    changed = api.change(path, {"condition": {"belowPercent": 50}, "mails": True})
    assert changed.data["condition"]["belowPercent"] == 50 and changed.data["mails"] is True
    assert api.change(path, {"name": "x"}, If_Match='"old"').status_code == 412
    assert api.post(f"{path}/disable").data["isEnabled"] is False
    assert api.post(f"{path}/test").data["error"] == "action_refused"
    assert api.post(f"{path}/enable").data["isEnabled"] is True
    assert api.delete(f"webhooks/{hook}").data["error"] == "action_refused"
    assert api.delete(path).status_code == 204
    assert api.get(path).data["error"] == "not_found"
    assert api.delete(f"webhooks/{hook}").status_code == 204


def test_a_test_its_log_and_a_replay(token: Root, ada: Any, receiver: Receiver) -> None:
    api = token(ada)
    hook = webhooks.create(ada.pk, name="pager", url=receiver.url)
    body = {"name": "w", "trigger": "account", "condition": {"address": ADDRESS}}
    rule = api.post("rules", {**body, "webhook": hook.pk, "mails": True}).data["id"]
    receiver.status = 500
    assert api.post(f"rules/{rule}/test").status_code == 200
    work()
    log = api.get(f"deliveries?rule={rule}").data["results"]
    assert sorted(each["mailTo"] for each in log) == ["", "alerts@ada.example"]
    (posted,) = [each for each in log if each["webhook"] == hook.pk]
    assert (posted["kind"], posted["rule"], posted["state"]) == ("account.written", rule, "waiting")
    assert [(each["status"], bool(each["problem"])) for each in posted["attempts"]] == [(500, True)]
    assert posted["messageId"] == receiver.got[0][1]["webhook-id"]
    receiver.status = 204
    assert api.post(f"deliveries/{posted['id']}/redeliver").data["tries"] == 0
    work()
    since = (timezone.now() - timedelta(hours=1)).isoformat()
    assert api.post(f"rules/{rule}/replay", {"since": since, "states": ["failed"]}).data == {
        "queued": 0
    }
    assert api.post(f"rules/{rule}/replay", {"since": since}).data == {"queued": 1}
    work()
    assert len({headers["webhook-id"] for _path, headers, _body in receiver.got}) == 1
    assert len(receiver.got) == 3
    assert api.post(f"rules/{rule}/replay", {}).data["fields"].keys() == {"since"}
    backward = {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert api.post(f"rules/{rule}/replay", backward).data["fields"].keys() == {"until"}


@pytest.mark.parametrize(
    ("changes", "status", "problem"),
    [
        ({"condition": {"address": "0OIl"}}, 409, "is not a Solana address"),
        ({"condition": {"minutes": 15}}, 409, "`minutes` does not go with the trigger account"),
        ({"condition": {}}, 409, "`address` is required by the trigger account"),
        ({"condition": {"adress": ADDRESS}}, 400, "Unknown field"),
        ({"condition": {"states": ["gone"]}}, 400, "not a valid choice"),
        ({"trigger": "weather"}, 400, "not a valid choice"),
        ({"mails": False}, 409, "A rule needs a webhook, or mails"),
        ({"condition": ADDRESS}, 400, '{"condition":{"request":["Invalid data.'),
        ({"webhook": 1.5}, 400, "valid integer"),
        ({"webhook": True}, 400, "valid integer"),
        ({"webhook": 10**9}, 400, "object does not exist"),
        ({"name": ""}, 400, "may not be blank"),
    ],
)
def test_what_cannot_be_is_refused(
    token: Root, ada: Any, changes: Any, status: int, problem: str
) -> None:
    body = {"name": "w", "trigger": "account", "condition": {"address": ADDRESS}, "mails": True}
    answer = token(ada).post("rules", {**body, **changes})
    assert answer.status_code == status and problem in answer.content.decode()
    assert not Rule.objects.exists()


def test_another_customers_rules_do_not_exist(
    token: Root, root: Root, ada: Any, eve: Any, receiver: Receiver, settings: Any
) -> None:
    theirs = webhooks.create(ada.pk, name="pager", url=receiver.url)
    body = {"name": "w", "trigger": "account", "condition": {"address": ADDRESS}}
    staff, own = root(), token(eve)
    assert staff.post("rules", {**body, "mails": True}).data["fields"].keys() == {"customer"}
    mixed = staff.post("rules", {**body, "customer": eve.pk, "webhook": theirs.pk})
    assert (mixed.status_code, mixed.data["error"]) == (409, "action_refused")
    made = staff.post("rules", {**body, "customer": ada.pk, "webhook": theirs.pk}).data["id"]
    refused = own.post("rules", {**body, "webhook": theirs.pk})
    assert "object does not exist" in refused.content.decode()
    assert own.post("rules", {**body, "customer": ada.pk}).status_code == 400
    for call in ("", "/test", "/enable", "/disable", "/replay"):
        answer = own.post(f"rules/{made}{call}", {}) if call else own.get(f"rules/{made}")
        assert answer.status_code == 404, call
    assert own.delete(f"rules/{made}").status_code == 404
    assert own.get("rules").data["results"] == own.get("deliveries").data["results"] == []
    settings.EVENT_RULES = 0
    full = own.post("rules", {**body, "mails": True})
    assert full.status_code == 409 and "event rules" in full.data["message"]


def test_a_repeated_request_adds_one_rule(token: Root, ada: Any) -> None:
    api = token(ada)
    body = {"name": "w", "trigger": "account", "condition": {"address": ADDRESS}, "mails": True}
    first, again = (api.post("rules", body, Idempotency_Key="once") for _ in range(2))
    assert first.data == again.data and again.headers["Idempotency-Replayed"] == "true"
    assert Rule.objects.count() == 1
