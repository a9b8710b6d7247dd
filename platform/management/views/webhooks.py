"""Webhooks, and what was delivered to them."""

from typing import Any, ClassVar

from django.db.models import Q
from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from access.models import Customer
from alerts import addresses
from alerts.models import Attempt, Delivery, Webhook
from alerts.services import webhooks
from alerts.services.delivering import message_id
from management.filters import Filters, IdFilter
from management.serializers import Body, Resource, RowField
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from portal.views.webhooks import TESTS


class WebhookSerializer(Resource):
    """An address that events are posted to; only its host is shown, its path may be a secret."""

    customer: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    host = serializers.SerializerMethodField()
    kinds = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = (
            "id",
            "customer",
            "name",
            "host",
            "kinds",
            "is_enabled",
            "created_at",
            "failing_since",
            "last_problem",
            "disabled_reason",
            "delivered_at",
            "previous_until",
        )

    def get_host(self, webhook: Webhook) -> str:
        return addresses.host_of(webhook.url)


class WebhookWithSecret(WebhookSerializer):
    """A webhook with the secret (`whsec_…`) that verifies its requests."""

    secret = serializers.CharField()

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class WebhookChanges(Body):
    """What may be changed of a webhook."""

    name = serializers.CharField(max_length=100)
    url = serializers.CharField(max_length=500)
    kinds = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=100,
        help_text="the events to deliver; empty means all",
    )


class NewWebhook(WebhookChanges):
    """A webhook to add; for root keys without a customer it is the staff's."""

    for_staff: ClassVar[tuple[str, ...]] = ("customer",)

    customer: Any = RowField(queryset=Customer.objects.all(), required=False, allow_null=True)


class WebhookFilter(Filters):
    """Which webhooks to list."""

    customer = IdFilter("customer_id")
    enabled = filters.BooleanFilter(field_name="is_enabled")


class Webhooks(ResourceViewSet):
    resource = "webhooks"
    singular, plural = "a webhook", "webhooks"
    owner = "customer"
    volatile = frozenset({"failingSince", "lastProblem", "deliveredAt"})
    unshown = ("url",)
    queryset = Webhook.objects.all()
    serializer_class = WebhookSerializer
    filterset_class = WebhookFilter

    @shape(body=NewWebhook, answer=WebhookWithSecret, status=201)
    def create(self, request: Any) -> Response:
        """Adds a webhook, enabled, with a new secret."""
        given, own = self.given(), self.actor.customer_id
        customer = given.pop("customer", None)
        owner = own if customer is None else customer.pk
        webhook = webhooks.create(owner, **given)
        self.record("added", webhook)
        return self.answer(webhook, secret=webhooks.secret_of(webhook))

    @shape(body=WebhookChanges, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes a webhook."""
        return self.edit(pk, webhooks.edit)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes a webhook with the record of its deliveries."""
        return self.remove(pk, lambda webhook: webhooks.delete(webhook.pk))

    @order()
    def enable(self, request: Any, pk: int) -> Response:
        """Enables a webhook for new events, and clears its failures."""
        return self.act("enabled", pk, lambda: webhooks.enable(pk))

    @order()
    def disable(self, request: Any, pk: int) -> Response:
        """Disables a webhook; waiting deliveries are given up."""
        return self.act("disabled", pk, lambda: webhooks.disable(pk))

    @order(answer=WebhookWithSecret)
    def rotate(self, request: Any, pk: int) -> Response:
        """Makes a new secret; for a day requests are signed with the old one as well."""
        webhook = self.locked(pk)
        secret = webhooks.rotate_secret(pk, now=timezone.now())
        self.record("rotated the secret of", webhook)
        return self.answer(self.get_object(), secret=secret)

    @order()
    def test(self, request: Any, pk: int) -> Response:
        """Posts an event of the kind `test` within seconds."""
        webhook = self.locked(pk)
        self.count("webhook-test", TESTS)
        webhooks.send_test(pk, now=timezone.now())
        self.record("sent a test to", webhook)
        return self.answer(webhook)


class AttemptSerializer(Resource):
    """One attempt of a delivery: the HTTP status (of a mail 250), or the problem."""

    class Meta:
        model = Attempt
        fields = ("at", "status", "problem", "milliseconds")


class DeliverySerializer(Resource):
    """One event for one webhook, or for one mail address that a rule names."""

    webhook: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    rule: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    kind = serializers.CharField(source="event.kind", read_only=True)
    about = serializers.CharField(source="event.about", read_only=True)
    at = serializers.DateTimeField(source="event.at", read_only=True)
    message_id = serializers.SerializerMethodField(help_text="the `webhook-id` of its requests")
    attempts = AttemptSerializer(source="log", many=True, read_only=True)

    class Meta:
        model = Delivery
        fields = (
            "id",
            "webhook",
            "rule",
            "mail_to",
            "kind",
            "about",
            "at",
            "message_id",
            "state",
            "tries",
            "due_at",
            "delivered_at",
            "attempts",
        )

    def get_message_id(self, delivery: Delivery) -> str:
        return message_id(delivery.event)


class DeliveryFilter(Filters):
    """Which deliveries to list."""

    webhook = IdFilter("webhook_id")
    rule = IdFilter("rule_id")
    state = filters.ChoiceFilter(choices=Delivery.State.choices)


class Deliveries(ResourceViewSet):
    resource = "webhooks"
    singular, plural = "a delivery of an event", "deliveries of events"
    owner = "event__customer"
    queryset = (
        Delivery.objects.select_related("event")
        .prefetch_related("log")
        .filter(Q(webhook__isnull=False) | Q(rule__isnull=False))
    )
    serializer_class = DeliverySerializer
    filterset_class = DeliveryFilter

    @order()
    def redeliver(self, request: Any, pk: int) -> Response:
        """Delivers an event again, with the same webhook-id."""
        delivery = self.locked(pk)
        self.count("webhook-test", TESTS)
        webhooks.redeliver(pk, now=timezone.now())
        self.record("sent again", delivery)
        return self.answer(self.get_object())
