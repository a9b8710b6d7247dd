"""Events, where they are told, and every try to tell them."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from access.models import Customer


class Event(models.Model):
    """Something that happened, written in the transaction in which it did. Without a customer it
    concerns the staff. `data` is what webhooks carry, members in camelCase.
    """

    kind = models.CharField(max_length=40)
    customer = models.ForeignKey(
        Customer, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    about = models.CharField(max_length=200, help_text="what it is about, in words")
    text = models.TextField(help_text="one or two sentences for a person")
    data = models.JSONField(default=dict)
    once = models.CharField(
        max_length=150,
        null=True,
        blank=True,
        unique=True,
        help_text="an event of the same name is not written twice",
    )
    at = models.DateTimeField()
    spread_at = models.DateTimeField(
        null=True, blank=True, help_text="when its deliveries were written"
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
    # Sealed (alerts.sealing): the database alone does not give them away.
    sealed_secret = models.BinaryField(max_length=200, editable=False)
    sealed_previous = models.BinaryField(max_length=200, null=True, editable=False)
    previous_until = models.DateTimeField(
        null=True, editable=False, help_text="so long the secret before is signed with too"
    )
    kinds = ArrayField(
        models.CharField(max_length=40),
        default=list,
        blank=True,
        help_text="the events that it gets; none chosen: all",
    )
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    last_problem = models.CharField(
        max_length=300, blank=True, editable=False, help_text="of the last try; empty: it went well"
    )
    disabled_reason = models.CharField(max_length=200, blank=True, editable=False)
    delivered_at = models.DateTimeField(null=True, editable=False, help_text="last success")
    busy_until = models.DateTimeField(
        null=True, editable=False, help_text="a worker posts to it; one that was killed loses it"
    )

    class Meta:
        ordering: ClassVar = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One event on its way to one webhook, or to one mail address."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed", "given up"

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    webhook = models.ForeignKey(
        Webhook, on_delete=models.CASCADE, null=True, blank=True, related_name="deliveries"
    )
    mail_to = models.EmailField(blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(
        default=0, help_text="since it was last sent on its way"
    )
    due_at = models.DateTimeField(help_text="when it is tried next")
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
    """An address that mails go to: one mail at a time, and at most one a minute."""

    address = models.EmailField(primary_key=True)
    mailed_at = models.DateTimeField(null=True, help_text="when the last mail went out")
    busy_until = models.DateTimeField(
        null=True, help_text="a worker writes to it; one that was killed loses it"
    )

    class Meta:
        verbose_name_plural = "mailboxes"

    def __str__(self) -> str:
        return self.address


class Try(models.Model):
    """One try of a delivery: what was answered, or why nothing was."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="of HTTP")
    problem = models.CharField(max_length=300, blank=True)
    answer = models.CharField(max_length=500, blank=True, help_text="how the answer begins")
    milliseconds = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"try of {self.at:%Y-%m-%d %H:%M:%S}: {self.status or self.problem}"
