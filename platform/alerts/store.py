"""Queries on events, deliveries, webhooks and mailboxes."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from access.models import ApiKey, Customer
from alerts.models import Attempt, Delivery, Event, Mailbox, Rule, Webhook
from columns.advisory_locks import AdvisoryLock, try_for, wait_for
from columns.queries import all_rows, execute
from columns.raw_queries import MOMENT, exists, microseconds

# --- events ---------------------------------------------------------------------------------------


def create_event(**values: Any) -> Event:
    return Event.objects.create(**values)


def create_event_once(once: str, values: dict[str, Any]) -> Event | None:
    """None if an event with that `once` exists already."""
    event, is_new = Event.objects.get_or_create(once=once, defaults=values)
    return event if is_new else None


def written_once(names: Sequence[str]) -> set[str | None]:
    """The `once` names that have an event."""
    return set(Event.objects.filter(once__in=names).values_list("once", flat=True))


def lock_routing() -> bool:
    """Takes the lock until the end of the transaction; False if another worker has it. One worker
    routes events at a time: deliveries are numbered in the order of their events.
    """
    return try_for(AdvisoryLock.ROUTING_EVENTS)


def unrouted_events(most: int) -> list[Event]:
    """Events without deliveries, oldest first."""
    return list(Event.objects.filter(spread_at__isnull=True).order_by("pk")[:most])


def write_deliveries(
    deliveries: Sequence[Delivery], events: Sequence[Event], now: datetime
) -> None:
    """Writes the deliveries, with their mailboxes, and marks the events as routed."""
    boxes = sorted({each.mail_to for each in deliveries if each.mail_to})
    Mailbox.objects.bulk_create([Mailbox(address=each) for each in boxes], ignore_conflicts=True)
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    Event.objects.filter(pk__in=[event.pk for event in events]).update(spread_at=now)


def has_waiting(now: datetime) -> bool:
    """Whether an event is not routed yet, or a delivery is due."""
    return exists(
        "SELECT FROM alerts_event WHERE spread_at IS NULL",
        f"SELECT FROM alerts_delivery WHERE state = '{Delivery.State.WAITING}'"
        f" AND due_at <= {MOMENT.format('$1')}",
        parameters=(microseconds(now),),
    )


@transaction.atomic
def delete_events(before: datetime, most: int, *, of_rules: bool = False) -> int:
    """Deletes the oldest events, or those of rules alone, with their deliveries and attempts.
    Returns how many events.
    """
    old = Event.objects.filter(at__lt=before)
    if of_rules:
        old = old.filter(rule__isnull=False)
    found = list(old.order_by("at").values_list("pk", flat=True)[:most])
    Attempt.objects.filter(delivery__event__in=found).delete()
    # The ORM would read the rows first, for cascades: nothing refers to them any more.
    execute("DELETE FROM alerts_delivery WHERE event_id = ANY(%s)", [found])
    execute("DELETE FROM alerts_event WHERE id = ANY(%s)", [found])
    return len(found)


# --- deliveries -----------------------------------------------------------------------------------


def create_delivery(event: Event, webhook: Webhook, due_at: datetime) -> Delivery:
    return Delivery.objects.create(event=event, webhook=webhook, due_at=due_at)


def lock_delivery(delivery_id: int) -> Delivery:
    return (
        Delivery.objects.select_for_update(of=("self",))
        .select_related("event", "webhook")
        .get(pk=delivery_id)
    )


def _is_next(now: datetime, **recipient: Any) -> Combinable:
    """No delivery of the same subject to the recipient waits before it for its retry."""
    earlier = Delivery.objects.filter(
        **recipient,
        state=Delivery.State.WAITING,
        subject=OuterRef("subject"),
        pk__lt=OuterRef("pk"),
        due_at__gt=now,
    )
    return Q(subject="") | ~Exists(earlier.exclude(subject=""))


def _due(now: datetime, most: int, **recipient: Any) -> list[Delivery]:
    """The recipient's due deliveries, oldest event first, without those behind one of their subject
    that waits for its retry.
    """
    waiting = Delivery.objects.filter(state=Delivery.State.WAITING, **recipient)
    due = waiting.filter(_is_next(now, **recipient), due_at__lte=now)
    return list(due.select_related("event").order_by("pk")[:most])


def count_waiting(*, now: datetime, due_before: datetime) -> tuple[int, int]:
    """How many deliveries wait, and how many of them are late for want of workers: they were due
    before then, and their recipient neither fails nor is being delivered to. Many mails of a rule
    go out slowly by design.
    """
    late_posts = Q(
        Q(webhook__busy_until__isnull=True) | Q(webhook__busy_until__lt=now),
        _is_next(now, webhook=OuterRef("webhook")),
        webhook__isnull=False,
        webhook__failing_since__isnull=True,
    )
    late_mails = Q(webhook__isnull=True, rule__isnull=True)
    found = Delivery.objects.filter(state=Delivery.State.WAITING).aggregate(
        waiting=Count("pk"),
        late=Count("pk", filter=Q(late_posts | late_mails, due_at__lt=due_before)),
    )
    return found["waiting"], found["late"]


def due_posts(webhook_id: int, now: datetime, most: int) -> list[Delivery]:
    return _due(now, most, webhook=webhook_id)


def due_mails(address: str, now: datetime, most: int) -> list[Delivery]:
    return _due(now, most, mail_to=address, webhook__isnull=True)


def record_outcome(delivery: Delivery, **values: Any) -> bool:
    """Records the outcome of the delivery's next attempt; False if it was recorded before."""
    mine = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.WAITING, tries=delivery.tries
    )
    return bool(mine.update(tries=F("tries") + 1, **values))


def record_delivered(done: Sequence[tuple[Delivery, datetime]]) -> set[int]:
    """Records that the deliveries' next attempts succeeded; the ids of those where no other worker
    had recorded that attempt.
    """
    rows = all_rows(
        "UPDATE alerts_delivery d SET state = %s, tries = d.tries + 1, delivered_at = v.at"
        " FROM unnest(%s::bigint[], %s::integer[], %s::timestamptz[]) AS v(id, tries, at)"
        " WHERE d.id = v.id AND d.tries = v.tries AND d.state = %s RETURNING d.id",
        [
            Delivery.State.DELIVERED,
            [delivery.pk for delivery, _ in done],
            [delivery.tries for delivery, _ in done],
            [at for _, at in done],
            Delivery.State.WAITING,
        ],
    )
    return {pk for (pk,) in rows}


def create_attempts(attempts: Sequence[Attempt]) -> None:
    Attempt.objects.bulk_create(attempts)


def newest_deliveries(source: Webhook | Rule, limit: int = 50) -> list[Delivery]:
    """Those to a webhook or of a rule, each with its event and its attempts (`log`), in a fixed
    number of queries.
    """
    newest = source.deliveries.select_related("event", "webhook").prefetch_related("log")
    return list(newest.order_by("-pk")[:limit])


# --- webhooks -------------------------------------------------------------------------------------


def create_webhook(**values: Any) -> Webhook:
    return Webhook.objects.create(**values)


def webhook(webhook_id: int) -> Webhook:
    return Webhook.objects.get(pk=webhook_id)


def count_webhooks(customer_id: int | None) -> int:
    """The number of webhooks of the customer, or of the staff. Locks them, so that no other
    transaction adds a webhook meanwhile.
    """
    if customer_id is None:
        wait_for(AdvisoryLock.STAFF_WEBHOOKS)
        return Webhook.objects.filter(customer__isnull=True).count()
    Customer.objects.select_for_update(no_key=True).get(pk=customer_id)
    return Webhook.objects.filter(customer_id=customer_id).count()


def lock_webhook(webhook_id: int) -> Webhook:
    return Webhook.objects.select_for_update(no_key=True).get(pk=webhook_id)


def lock_webhook_of(delivery: Delivery) -> None:
    """Locks the delivery's webhook before the delivery, as every change of a webhook does: another
    order could deadlock.
    """
    if delivery.webhook_id is not None:
        Webhook.objects.select_for_update(no_key=True).filter(pk=delivery.webhook_id).first()


def give_up_waiting(webhook: Webhook) -> None:
    """Marks the webhook's waiting deliveries as failed."""
    Delivery.objects.filter(webhook=webhook, state=Delivery.State.WAITING).update(
        state=Delivery.State.FAILED
    )


def delete_webhook(webhook: Webhook) -> None:
    """Deletes the webhook with its deliveries, without reading them: there may be 100,000."""
    Attempt.objects.filter(delivery__webhook=webhook).delete()
    execute("DELETE FROM alerts_delivery WHERE webhook_id = %s", [webhook.pk])
    webhook.delete()


def record_success(webhook_id: int, now: datetime) -> None:
    Webhook.objects.filter(pk=webhook_id).update(
        failing_since=None, last_problem="", delivered_at=now
    )


def record_failure(webhook_id: int, problem: str, now: datetime) -> Webhook | None:
    """The updated webhook, None if it is disabled."""
    row = Webhook.objects.filter(pk=webhook_id)
    row.update(failing_since=Coalesce("failing_since", Value(now)), last_problem=problem[:300])
    return row.filter(is_enabled=True).first()


def enabled_webhooks(customers: Collection[int]) -> Iterable[Webhook]:
    """Enabled webhooks of the customers and of the staff."""
    concerned = Q(customer__in=customers) | Q(customer__isnull=True)
    return Webhook.objects.filter(concerned, is_enabled=True).order_by("pk")


def mail_addresses(customers: Collection[int]) -> Iterable[tuple[int, str]]:
    """(customer, address) of customers that want alerts by mail."""
    wanted = Customer.objects.filter(pk__in=customers, alert_mails=True)
    return [*wanted.exclude(email="").values_list("pk", "email"), *_of_members(wanted)]


def addresses_of(customer_id: int) -> list[str]:
    """Where its alerts are mailed if it wants them: its own address, else those of its members."""
    customer = Customer.objects.filter(pk=customer_id)
    own = [each for each in customer.values_list("email", flat=True) if each]
    return own or [address for _, address in _of_members(customer)]


def _of_members(customers: QuerySet[Customer]) -> Iterable[tuple[int, str]]:
    """(customer, address) of portal users who may sign in and chose a password, of customers
    without an address.
    """
    users = User.objects.filter(
        member__customer__in=customers.filter(email=""), is_active=True, is_staff=False
    )
    chosen = users.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exclude(email="")
    return chosen.order_by("pk").values_list("member__customer", "email")


# --- turns: the right to deliver to a webhook or an address, until a time -------------------------


def _is_free(now: datetime, until: datetime) -> Q:
    """Unclaimed. One that lasts much longer than one made now was made before the clock was set
    back. It may last a little longer: it was renewed after `now` was read.
    """
    latest = until + (until - now)
    return Q(busy_until__isnull=True) | Q(busy_until__lte=now) | Q(busy_until__gt=latest)


@transaction.atomic
def claim_webhooks(*, now: datetime, until: datetime, most: int, failing: bool) -> list[int]:
    """Claims webhooks with due deliveries that no worker has claimed, until the time."""
    due = Delivery.objects.filter(
        webhook=OuterRef("pk"), state=Delivery.State.WAITING, due_at__lte=now
    )
    free = Webhook.objects.filter(
        _is_free(now, until),
        Exists(due),
        is_enabled=True,
        failing_since__isnull=not failing,
    )
    locked = free.select_for_update(skip_locked=True, no_key=True).order_by("pk")
    found = [row.pk for row in locked[:most]]
    Webhook.objects.filter(pk__in=found).update(busy_until=until)
    return found


def renew_turn(webhook_id: int, before: datetime, until: datetime) -> bool:
    """Extends the turn that lasts until `before`; False if another worker has taken the webhook, or
    it is disabled.
    """
    mine = Webhook.objects.filter(pk=webhook_id, busy_until=before, is_enabled=True)
    return bool(mine.update(busy_until=until))


def end_turn(webhook_id: int, until: datetime) -> None:
    Webhook.objects.filter(pk=webhook_id, busy_until=until).update(busy_until=None)


@transaction.atomic
def claim_mailboxes(
    *, now: datetime, until: datetime, mailed_before: datetime, most: int
) -> list[str]:
    """Claims addresses with due deliveries and no mail since `mailed_before` that no other
    worker has claimed, until the time.
    """
    due = Delivery.objects.filter(
        mail_to=OuterRef("pk"),
        webhook__isnull=True,
        state=Delivery.State.WAITING,
        due_at__lte=now,
    )
    free = Mailbox.objects.filter(
        _is_free(now, until),
        Q(mailed_at__isnull=True)
        | Q(mailed_at__lte=mailed_before)
        | Q(mailed_at__gt=until),  # before the clock was set back
        Exists(due),
    )
    locked = free.select_for_update(skip_locked=True, no_key=True).order_by("pk")
    found = [row.pk for row in locked[:most]]
    Mailbox.objects.filter(pk__in=found).update(busy_until=until)
    return found


def end_mail_turn(address: str, until: datetime, mailed_at: datetime | None) -> None:
    """Ends the turn, and records the time of the mail if one was sent."""
    mine = Mailbox.objects.filter(pk=address, busy_until=until)
    if mailed_at is None:
        mine.update(busy_until=None)
    else:
        mine.update(busy_until=None, mailed_at=mailed_at)


def delete_mailboxes(before: datetime) -> None:
    """Deletes mailboxes without a mail since `before`."""
    Mailbox.objects.filter(mailed_at__lt=before).delete()


# --- keys -----------------------------------------------------------------------------------------


def keys_expiring(after: datetime, until: datetime) -> QuerySet[ApiKey]:
    """Keys that expire in the range, with their successors, soonest first."""
    keys = ApiKey.objects.filter(
        revoked_at__isnull=True, expires_at__gt=after, expires_at__lte=until
    )
    return keys.select_related("rotated_to").defer("digest").order_by("expires_at")


def keys_of(key_ids: Iterable[int]) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(pk__in=key_ids).defer("digest").order_by("pk")
