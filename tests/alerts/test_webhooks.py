"""Managing webhooks, and retention of events."""

import threading
from typing import Any

import pytest

from alerts import store
from alerts.errors import BadAddress, NameMissing, TooManyWebhooks, UnknownKind, WebhookIsOff
from alerts.models import Attempt, Delivery, Event, Mailbox, Webhook
from alerts.services import retention, webhooks
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db

URL = "https://hooks.example.com/tidemark"


@pytest.mark.parametrize(
    ("order", "refusal", "said"),
    [
        ({"name": " "}, NameMissing, "name of 1 to 100"),
        ({"name": "x" * 101}, NameMissing, "name of 1 to 100"),
        ({"url": "hooks.example.com"}, BadAddress, "begin with https"),
        ({"kinds": ["key.lost"]}, UnknownKind, "Unknown event: 'key.lost'"),
        ({"kinds": ["alarm.opened"]}, UnknownKind, "Unknown event: 'alarm.opened'"),
    ],
)
def test_bad_webhooks_are_refused(ada: Any, order: Any, refusal: Any, said: str) -> None:
    with pytest.raises(refusal, match=said):
        webhooks.create(ada.pk, **{"name": "a", "url": URL, **order})
    webhook = webhooks.create(ada.pk, name="a", url=URL)
    with pytest.raises(refusal, match=said):
        webhooks.edit(webhook.pk, **order)
    webhook.refresh_from_db()
    assert (webhook.name, webhook.url, webhook.kinds) == ("a", URL, [])


def test_the_staff_chooses_among_its_own_events() -> None:
    assert webhooks.create(None, name="a", url=URL, kinds=["alarm.opened"]).kinds == [
        "alarm.opened"
    ]
    with pytest.raises(UnknownKind):
        webhooks.create(None, name="a", url=URL, kinds=["key.revoked"])


def test_private_addresses_are_refused_unless_the_installation_allows_them(
    ada: Any, settings: Any
) -> None:
    settings.WEBHOOKS_PRIVATE = False
    with pytest.raises(BadAddress, match="this machine itself"):
        webhooks.create(ada.pk, name="a", url="http://127.0.0.1:9/")


def test_a_customer_has_at_most_ten_however_fast_they_are_made(
    transactional_db: None, ada: Any
) -> None:
    from django.db import connection

    for number in range(webhooks.MOST_WEBHOOKS - 1):
        webhooks.create(ada.pk, name=f"hook {number}", url=URL)
    begin = threading.Barrier(4)
    made: list[bool] = []

    def make() -> None:
        begin.wait(PATIENCE_SECONDS)
        try:
            webhooks.create(ada.pk, name="the last", url=URL)
            made.append(True)
        except TooManyWebhooks:
            made.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, False, False, True]
    assert Webhook.objects.count() == webhooks.MOST_WEBHOOKS


def test_a_webhook_that_is_off_gets_nothing_until_it_is_on(
    ada: Any, hook: Any, receiver: Any, happen: Any, work: Any, clock: Any
) -> None:
    receiver.status = 500
    happen(ada)
    work()
    waiting = Delivery.objects.get()
    webhooks.disable(hook.pk)
    waiting.refresh_from_db()
    assert waiting.state == "failed"
    happen(ada)
    work()
    assert len(receiver.got) == 1
    for refused in (
        lambda: webhooks.send_test(hook.pk, now=clock.now),
        lambda: webhooks.redeliver(waiting.pk, now=clock.now),
    ):
        with pytest.raises(WebhookIsOff):
            refused()
    receiver.status = 200
    webhooks.enable(hook.pk)
    webhooks.redeliver(waiting.pk, now=clock.now)
    work()
    assert len(receiver.got) == 2


def test_the_newest_deliveries_come_with_their_attempts_in_a_few_queries(
    ada: Any, hook: Any, happen: Any, work: Any, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        happen(ada, about=f"key {number}")
    work()
    with django_assert_num_queries(2):
        newest = store.newest_deliveries(hook, 3)
        found = [(each.event.about, [row.status for row in each.log.all()]) for each in newest]
    assert found == [("key 4", [204]), ("key 3", [204]), ("key 2", [204])]


def test_a_deleted_webhook_takes_its_deliveries_along(
    ada: Any, hook: Any, happen: Any, work: Any
) -> None:
    happen(ada)
    work()
    webhooks.delete(hook.pk)
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()
    assert Event.objects.count() == 1


def test_events_are_deleted_after_a_month(
    ada: Any, hook: Any, happen: Any, work: Any, clock: Any
) -> None:
    ada.email = "ada@example.com"
    ada.save()
    happen(ada)
    work()
    assert Delivery.objects.count() == 2
    clock.move(days=34)
    happen(ada)
    assert retention.delete_old_events(now=clock.now) == 0
    clock.move(days=1, seconds=1)
    assert retention.delete_old_events(now=clock.now) == 1
    assert Event.objects.count() == 1
    assert not Delivery.objects.exists()
    assert not Attempt.objects.exists()
    assert not Mailbox.objects.exists()
    assert retention.KEPT.days > 31, "a monthly quota event is published once a month"
