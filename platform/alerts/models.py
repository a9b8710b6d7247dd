"""Events, webhooks, and deliveries with their attempts."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from access.models import Customer
from alerts.conditions import TITLES, Trigger


class Event(models.Model):
    """Something that happened, written in the same transaction. Without a customer it is for the
    staff. `data` is the webhook payload, members in camelCase.
    """

    kind = models.CharField(max_length=40)
    customer = models.ForeignKey(
        Customer, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    about = models.CharField(max_length=200, help_text="what the event is about")
    text = models.TextField(help_text="a description in one or two sentences")
    data = models.JSONField(default=dict)
    rule = models.ForeignKey(
        "Rule",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        db_index=False,
        related_name="events",
        help_text="it goes where the rule says; empty: to all who want the kind",
    )
    subject = models.CharField(
        max_length=120,
        blank=True,
        db_default="",
        help_text="each recipient gets events of one subject in order; empty: in any order",
    )
    once = models.CharField(
        max_length=150,
        null=True,
        blank=True,
        unique=True,
        help_text="an event with the same value is not written twice",
    )
    at = models.DateTimeField()
    spread_at = models.DateTimeField(
        null=True, blank=True, help_text="when its deliveries were created"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["id"], condition=Q(spread_at__isnull=True), name="events_to_spread"
            ),
            models.Index(fields=["customer", "-id"], name="events_by_customer"),
            models.Index(fields=["at"], name="events_by_time"),
            models.Index(fields=["kind", "-id"], name="events_by_kind"),
            models.Index(
                fields=["rule", "at"], condition=Q(rule__isnull=False), name="events_by_rule"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.about}"


class Webhook(models.Model):
    """An address that events are posted to, signed. Without a customer it is the staff's."""

    customer = models.ForeignKey(
        Customer, on_delete=models.CASCADE, null=True, blank=True, related_name="webhooks"
    )
    name = models.CharField(max_length=100)
    url = models.CharField("URL", max_length=500, help_text="read by alerts.addresses")
    # Encrypted (alerts.sealing): unreadable with the database alone.
    sealed_secret = models.BinaryField(max_length=200, editable=False)
    sealed_previous = models.BinaryField(max_length=200, null=True, editable=False)
    previous_until = models.DateTimeField(
        null=True,
        editable=False,
        help_text="requests are signed with the previous secret too until then",
    )
    kinds = ArrayField(
        models.CharField(max_length=40),
        default=list,
        blank=True,
        help_text="the events to deliver; empty: all",
    )
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    last_problem = models.CharField(
        max_length=300,
        blank=True,
        editable=False,
        help_text="of the last attempt; empty: it succeeded",
    )
    disabled_reason = models.CharField(max_length=200, blank=True, editable=False)
    delivered_at = models.DateTimeField(null=True, editable=False, help_text="last success")
    busy_until = models.DateTimeField(
        null=True, editable=False, help_text="a worker has claimed it until then"
    )

    class Meta:
        ordering: ClassVar = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Rule(models.Model):
    """What a customer is notified of, and where. `condition` is that of `alerts.conditions`,
    members in snake_case.
    """

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="event_rules")
    name = models.CharField(max_length=100)
    trigger = models.CharField(
        max_length=20, choices=[(each.value, TITLES[each]) for each in Trigger]
    )
    condition = models.JSONField(default=dict)
    webhook = models.ForeignKey(
        Webhook,
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="rules",
        help_text="events are posted to it, whatever types it has chosen",
    )
    mails = models.BooleanField(default=False, help_text="events are mailed to the customer")
    is_enabled = models.BooleanField(default=True)
    enabled_at = models.DateTimeField(help_text="it is about what happens from then on")
    disabled_reason = models.CharField(max_length=200, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # Of a landing share: since when it has been below the threshold.
    low_since = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering: ClassVar = ["name", "pk"]
        verbose_name = "event rule"
        indexes: ClassVar = [
            models.Index(
                fields=["trigger", "customer"],
                condition=Q(is_enabled=True),
                name="rules_by_trigger",
            )
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(webhook__isnull=False) | Q(mails=True), name="a_rule_has_a_recipient"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One event to deliver to one webhook, or to one mail address."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed", "given up"

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    webhook = models.ForeignKey(
        Webhook, on_delete=models.CASCADE, null=True, blank=True, related_name="deliveries"
    )
    mail_to = models.EmailField(blank=True)
    rule = models.ForeignKey(
        Rule,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        db_index=False,
        editable=False,
        related_name="deliveries",
        help_text="the event's",
    )
    subject = models.CharField(
        max_length=120, blank=True, db_default="", editable=False, help_text="the event's"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(
        default=0, help_text="attempts since it was last queued"
    )
    due_at = models.DateTimeField(help_text="when the next attempt is due")
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        verbose_name_plural = "deliveries"
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="deliveries_due"),
            models.Index(fields=["webhook", "-id"], name="deliveries_by_webhook"),
            models.Index(fields=["state", "-id"], name="deliveries_by_state"),
            models.Index(
                fields=["webhook", "due_at"],
                condition=Q(state="waiting", webhook__isnull=False),
                name="deliveries_due_at_webhooks",
            ),
            models.Index(
                fields=["mail_to", "due_at"],
                condition=Q(state="waiting", webhook__isnull=True),
                name="deliveries_due_by_mail",
            ),
            models.Index(
                fields=["mail_to", "-id"], condition=~Q(mail_to=""), name="deliveries_by_mail"
            ),
            models.Index(
                fields=["webhook", "subject", "id"],
                condition=Q(state="waiting") & ~Q(subject=""),
                name="deliveries_in_order",
            ),
            models.Index(
                fields=["rule", "-id"],
                condition=Q(rule__isnull=False),
                name="deliveries_by_rule",
            ),
            models.Index(
                fields=["rule"],
                condition=Q(state="waiting", rule__isnull=False),
                name="deliveries_waiting_by_rule",
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["event", "webhook", "mail_to"],
                name="an_event_is_delivered_once_to_each",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(webhook__isnull=False) ^ ~Q(mail_to=""),
                name="a_delivery_goes_to_a_webhook_or_by_mail",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook or self.mail_to}"


class Mailbox(models.Model):
    """A mail recipient: gets one mail at a time, and at most one a minute."""

    address = models.EmailField(primary_key=True)
    mailed_at = models.DateTimeField(null=True, help_text="when the last mail went out")
    busy_until = models.DateTimeField(null=True, help_text="a worker has claimed it until then")

    class Meta:
        verbose_name_plural = "mailboxes"

    def __str__(self) -> str:
        return self.address


class Attempt(models.Model):
    """One attempt of a delivery: the response, or why there was none."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="HTTP status")
    problem = models.CharField(max_length=300, blank=True)
    answer = models.CharField(max_length=500, blank=True, help_text="the start of the response")
    milliseconds = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "alerts_try"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"attempt at {self.at:%Y-%m-%d %H:%M:%S}: {self.status or self.problem}"
