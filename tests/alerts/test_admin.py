"""The admin's pages on webhooks, deliveries and events: what they show, do, and refuse."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from alerts.models import Attempt, Delivery, Event, Webhook
from alerts.services import webhooks
from staff.models import AuditEntry

pytestmark = pytest.mark.django_db

HOOKS, DELIVERIES, EVENTS = (f"/admin/alerts/{name}/" for name in ("webhook", "delivery", "event"))


@pytest.fixture
def admin_user(db: None) -> Any:
    """Without a password, whose hashing would take longer than most tests here."""
    return User.objects.create_superuser("boss")


@pytest.fixture
def signed_in(client: Any) -> Callable[..., Any]:
    """`signed_in("view_webhook")`: a client of a user who may do that."""

    def sign_in(*names: str) -> Any:
        user = User.objects.create_user("olga", is_staff=True)
        user.user_permissions.set(
            Permission.objects.filter(content_type__app_label="alerts", codename__in=names)
        )
        assert user.user_permissions.count() == len(names)
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def viewer(signed_in: Callable[..., Any]) -> Any:
    return signed_in("view_webhook", "view_delivery", "view_event")


@pytest.fixture
def operator(signed_in: Callable[..., Any]) -> Any:
    return signed_in(
        "view_webhook",
        "view_delivery",
        "view_event",
        "change_webhook",
        "change_delivery",
    )


def _order(client: Any, hook: Webhook, name: str) -> Any:
    return client.post(f"{HOOKS}{hook.pk}/orders/{name}/", follow=True)


def _done() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(subject_type="alerts.webhook").order_by("pk"))


def _said(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def test_a_webhook_is_added_tested_and_its_log_read(
    admin_client: Any, ada: Any, receiver: Any, work: Any, clock: Any
) -> None:
    given = {"customer": ada.pk, "name": "Trading", "url": receiver.url, "kinds": ["key.revoked"]}
    response = admin_client.post(f"{HOOKS}add/", given, follow=True)
    hook = Webhook.objects.get()
    assert response.redirect_chain[-1][0] == f"{HOOKS}{hook.pk}/change/"
    assert (hook.customer, hook.kinds, hook.is_enabled) == (ada, ["key.revoked"], True)
    assert "Send a test to check that the receiver answers" in response.content.decode()
    assert _said(_order(admin_client, hook, "test")) == [
        "The test is being sent: the list below shows the result."
    ]
    clock.move(minutes=5)  # the pages' own clock went on
    work()
    page = admin_client.get(f"{HOOKS}{hook.pk}/change/").content.decode()
    assert "working" in page
    delivery = Delivery.objects.get()
    assert f"{DELIVERIES}{delivery.pk}/change/" in page
    page = admin_client.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode()
    assert "204" in page
    assert [entry.verb for entry in _done()] == ["added", "sent a test to"]


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"url": "ftp://hooks.example.com/"}, "url", "begin with https"),
        ({"url": "http://169.254.169.254/"}, "url", "link-local"),
        ({"name": ""}, "name", "required"),
        ({"kinds": ["key.lost"]}, "kinds", "not one of the available choices"),
        ({"kinds": ["alarm.opened"]}, "kinds", "No events of customers: alarm.opened"),
    ],
)
def test_a_bad_webhook_is_refused_at_its_field(
    admin_client: Any, ada: Any, given: Any, field: str, said: str
) -> None:
    good = {"customer": ada.pk, "name": "a", "url": "http://receiver:9000/", "kinds": []}
    response = admin_client.post(f"{HOOKS}add/", {**good, **given})
    assert response.status_code == 200
    errors = response.context["adminform"].form.errors
    assert said in str(errors[field])
    assert not Webhook.objects.exists()
    assert admin_client.post(f"{HOOKS}add/", good).status_code == 302


def test_the_eleventh_webhook_is_refused_with_a_message(admin_client: Any, ada: Any) -> None:
    for number in range(10):
        webhooks.create(ada.pk, name=f"hook {number}", url="https://hooks.example.com/")
    given = {"customer": ada.pk, "name": "one more", "url": "https://hooks.example.com/"}
    response = admin_client.post(f"{HOOKS}add/", given, follow=True)
    assert _said(response) == ["A customer can have 10 webhooks: delete one first"]
    assert Webhook.objects.count() == 10


def test_an_edit_is_saved_and_audited_without_the_path(admin_client: Any, hook: Any) -> None:
    given = {"name": "New", "url": "https://hooks.example.com/hush", "kinds": ["key.expired"]}
    admin_client.post(f"{HOOKS}{hook.pk}/change/", given)
    hook.refresh_from_db()
    assert (hook.name, hook.url, hook.kinds) == ("New", given["url"], ["key.expired"])
    entry = AuditEntry.objects.get(verb="changed")
    assert entry.changes["name"] == ["Ada's hook", "New"]
    assert entry.changes["url"][1] == "hooks.example.com"
    assert "hush" not in str(entry.changes)


def test_a_secret_is_shown_on_demand_and_the_audit_log_says_to_whom(
    operator: Any, hook: Any
) -> None:
    secret = webhooks.secret_of(hook)
    page = operator.get(f"{HOOKS}{hook.pk}/change/").content.decode()
    assert secret not in page
    response = _order(operator, hook, "secret")
    assert secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    response = _order(operator, hook, "rotate")
    hook.refresh_from_db()
    new = webhooks.secret_of(hook)
    assert new != secret
    assert new in response.content.decode()
    entries = _done()
    assert [entry.verb for entry in entries] == ["showed the secret of", "rotated the secret of"]
    assert secret[6:] not in str([(entry.changes, entry.text) for entry in entries])


def test_a_webhook_is_switched_off_and_on(operator: Any, hook: Any, happen: Any, ada: Any) -> None:
    page = _order(operator, hook, "disable").content.decode()
    hook.refresh_from_db()
    assert not hook.is_enabled
    assert "switched off by hand" in page
    assert _said(_order(operator, hook, "test")) == ["Ada's hook is off: enable it first"]
    _order(operator, hook, "enable")
    hook.refresh_from_db()
    assert hook.is_enabled


def test_a_delivery_is_sent_again(
    operator: Any, ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    receiver.status, receiver.text = 500, b"<b>sorry</b>"
    happen(ada)
    happen(ada)
    work()
    first, second = Delivery.objects.order_by("pk")
    Delivery.objects.update(state="failed")
    page = operator.get(f"{DELIVERIES}{first.pk}/change/").content.decode()
    assert "answered 500, not 2xx" in page
    assert "&lt;b&gt;sorry&lt;/b&gt;" in page
    receiver.status = 200
    operator.post(f"{DELIVERIES}{first.pk}/again/")
    chosen = {"action": "deliver_again", "_selected_action": [second.pk]}
    assert "Sending 1 delivery again." in _said(operator.post(DELIVERIES, chosen, follow=True))
    clock.move(minutes=5)  # the pages' own clock went on
    work()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}
    assert AuditEntry.objects.filter(verb="sent again").count() == 2


def test_a_viewer_sees_all_but_secrets_and_changes_nothing(
    viewer: Any, ada: Any, receivers: Any, happen: Any, work: Any
) -> None:
    receiver = receivers()
    hook = webhooks.create(ada.pk, name="a", url=f"{receiver.url}/hush")
    happen(ada)
    work()
    delivery, event = Delivery.objects.get(), Event.objects.get()
    for path in (
        HOOKS,
        f"{HOOKS}{hook.pk}/change/",
        DELIVERIES,
        f"{DELIVERIES}{delivery.pk}/change/",
        EVENTS,
        f"{EVENTS}{event.pk}/change/",
    ):
        response = viewer.get(path)
        assert response.status_code == 200, path
        page = response.content.decode()
        assert "hush" not in page
        assert "whsec_" not in page
        assert "/orders/" not in page
        assert "/again/" not in page
    for name in ("test", "secret", "rotate", "enable", "disable"):
        assert _order(viewer, hook, name).status_code == 403
    assert viewer.post(f"{DELIVERIES}{delivery.pk}/again/").status_code == 403
    assert viewer.post(f"{HOOKS}add/", {"name": "a"}).status_code == 403
    assert viewer.post(f"{HOOKS}{hook.pk}/change/", {"name": "b"}).status_code == 403
    assert viewer.post(f"{HOOKS}{hook.pk}/delete/", {"post": "yes"}).status_code == 403
    viewer.post(DELIVERIES, {"action": "deliver_again", "_selected_action": [delivery.pk]})
    delivery.refresh_from_db()
    assert delivery.state == "delivered"
    assert not AuditEntry.objects.filter(verb__in=["sent again", "showed the secret of"]).exists()


def test_actions_are_posts_with_a_token_on_existing_objects(
    admin_client: Any, admin_user: Any, hook: Any
) -> None:
    from django.test import Client

    assert admin_client.get(f"{HOOKS}{hook.pk}/orders/test/").status_code == 405
    assert _order(admin_client, hook, "burn").status_code == 404
    assert admin_client.post(f"{HOOKS}999999/orders/test/").status_code == 404
    assert admin_client.get(f"{DELIVERIES}1/again/").status_code == 405
    assert admin_client.post(f"{DELIVERIES}999999/again/").status_code == 404
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin_user)
    assert strict.post(f"{HOOKS}{hook.pk}/orders/disable/").status_code == 403
    hook.refresh_from_db()
    assert hook.is_enabled


def test_deleting_a_webhook_lists_what_is_deleted_with_it(
    admin_client: Any, ada: Any, hook: Any, happen: Any, work: Any
) -> None:
    happen(ada)
    work()
    page = admin_client.get(f"{HOOKS}{hook.pk}/delete/").content.decode()
    assert "1 deliveries to it, with their attempts" in page
    admin_client.post(f"{HOOKS}{hook.pk}/delete/", {"post": "yes"})
    assert not Webhook.objects.exists()
    assert AuditEntry.objects.filter(verb="deleted").count() == 1


@pytest.fixture
def many(ada: Any, hook: Any, clock: Any) -> None:
    """Some hundred events of Ada's and of the staff, with deliveries and attempts."""
    events = Event.objects.bulk_create(
        Event(
            kind="key.revoked" if number % 2 else "alarm.opened",
            customer=ada if number % 2 else None,
            about=f"event {number}",
            text="It happened.",
            at=clock.now,
            spread_at=clock.now,
        )
        for number in range(120)
    )
    made = [Delivery(event=event, webhook=hook, due_at=clock.now, tries=1) for event in events]
    mails = [Delivery(event=each, mail_to="ada@example.com", due_at=clock.now) for each in events]
    deliveries = Delivery.objects.bulk_create(made + mails)
    Attempt.objects.bulk_create(
        Attempt(delivery=each, at=clock.now, status=204) for each in deliveries
    )


def test_lists_cost_the_same_however_many_rows_there_are(
    admin_client: Any, many: None, django_assert_max_num_queries: Any
) -> None:
    for path in (
        HOOKS,
        DELIVERIES,
        f"{DELIVERIES}?state=waiting",
        f"{DELIVERIES}?q=Ada",
        f"{DELIVERIES}?q=ada@example.com",
        EVENTS,
        f"{EVENTS}?kind=key.revoked",
        f"{EVENTS}?concerns=staff",
        f"{EVENTS}?q=Ada",
    ):
        with django_assert_max_num_queries(13):
            response = admin_client.get(path)
        assert response.status_code == 200
        rows = response.context["cl"].result_list
        assert len(rows) == (1 if path == HOOKS else 50), path


def test_a_webhooks_page_costs_the_same_however_much_it_got(
    admin_client: Any, many: None, hook: Any, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(14):
        response = admin_client.get(f"{HOOKS}{hook.pk}/change/")
    assert len(response.context["deliveries"]) == 20


@pytest.mark.parametrize("path", [HOOKS, DELIVERIES, EVENTS])
def test_an_empty_list_says_what_fills_it(admin_client: Any, path: str) -> None:
    page = admin_client.get(path).content.decode()
    assert "Nothing here yet" in page
    assert "Each event" in page or "Events are published" in page or "posted: customers" in page


def test_a_webhook_of_a_rule_is_not_deleted_and_staff_sees_the_rule(
    admin_client: Any, ada: Any, hook: Webhook, clock: Any
) -> None:
    from alerts.services import rules

    made = rules.create(
        ada.pk, name="every fate", trigger="submission", condition={}, webhook=hook, now=clock.now
    )
    rules.send_test(made.pk, now=clock.now)
    url = f"{HOOKS}{hook.pk}/delete/"
    page = admin_client.post(url, {"post": "yes"}, follow=True).content.decode()
    assert (
        "every fate. Change or delete them first" in page
        and Webhook.objects.filter(pk=hook.pk).exists()
    )
    assert "every fate" in admin_client.get("/admin/alerts/rule/").content.decode()
    page = admin_client.get(f"/admin/alerts/rule/{made.pk}/change/").content.decode()
    assert "landed, failed, expired, refused" in page
    assert "submission.landed" in page
