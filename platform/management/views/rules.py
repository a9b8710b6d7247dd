"""Event rules: what customers are notified of, and where."""

from typing import Any

from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from alerts.conditions import FATES, MINUTES, PERIODS, TITLES
from alerts.models import Delivery, Rule, Webhook
from alerts.services import rules
from management.filters import Filters, IdFilter
from management.serializers import Body, Camel, OfCustomer, Resource, RowField
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from portal.views.webhooks import TESTS
from staff.formatting import counted

_TRIGGERS = [(each.value, title) for each, title in TITLES.items()]
_MOST = 2**63 - 1
_OUTCOMES = ("any", "landed", "failed")


class RuleCondition(Body):
    """What must be so, by the trigger: `submission` has `states` and `keys`; `landing_share`
    `belowPercent`, `minutes`, `leastSubmissions` and `keys`; `tip_spend` `aboveLamports`, `period`
    and `keys`; `account` `address`; `program` `program` and `filters`; `mention` `address` and
    `outcome`.
    """

    states = serializers.ListField(
        child=serializers.ChoiceField(FATES),
        required=False,
        help_text="final fates; without them: all",
    )
    keys = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=_MOST),
        required=False,
        max_length=50,
        help_text="ids of API keys whose submissions count; empty means all of the customer",
    )
    below_percent = serializers.IntegerField(required=False, min_value=1, max_value=100)
    minutes = serializers.ChoiceField(MINUTES, required=False, help_text="60 by default")
    least_submissions = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="with fewer settled ones the share is not compared; 20 by default",
    )
    above_lamports = serializers.IntegerField(required=False, min_value=1, max_value=10**18)
    period = serializers.ChoiceField(PERIODS, required=False, help_text="of UTC; day by default")
    address = serializers.CharField(required=False, max_length=44, help_text="base58")
    program = serializers.CharField(required=False, max_length=44, help_text="base58")
    filters = serializers.ListField(
        child=serializers.JSONField(),
        required=False,
        max_length=4,
        help_text="as in `programSubscribe`",
    )
    outcome = serializers.ChoiceField(_OUTCOMES, required=False, help_text="any by default")


class RuleSerializer(Resource):
    """An event rule. `condition` has the members that go with its trigger."""

    customer: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    trigger = serializers.ChoiceField(_TRIGGERS)
    condition = RuleCondition()
    webhook: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    low_since = serializers.DateTimeField(
        allow_null=True, help_text="since when the landing share has been below the threshold"
    )

    class Meta:
        model = Rule
        fields = (
            "id",
            "customer",
            "name",
            "trigger",
            "condition",
            "webhook",
            "mails",
            "is_enabled",
            "enabled_at",
            "disabled_reason",
            "low_since",
            "created_at",
        )


class RuleChanges(Body):
    """What may be changed of a rule; a `condition` replaces the whole one."""

    name = serializers.CharField(max_length=100)
    condition = RuleCondition(required=False)
    webhook: Any = RowField(
        queryset=Webhook.objects.all(),
        required=False,
        allow_null=True,
        help_text="the customer's webhook that gets the events, whatever types it has chosen",
    )
    mails = serializers.BooleanField(
        required=False, help_text="whether the events are mailed to the customer"
    )

    def validate_webhook(self, webhook: Webhook | None) -> Webhook | None:
        own = self.context["actor"].customer_id
        if webhook is not None and own is not None and webhook.customer_id != own:
            # As of one that does not exist.
            raise serializers.ValidationError(
                f'Invalid pk "{webhook.pk}" - object does not exist.', code="does_not_exist"
            )
        return webhook


class NewRule(OfCustomer, RuleChanges):
    """A rule to add. A root key names the customer."""

    trigger = serializers.ChoiceField(_TRIGGERS)


class Replay(Body):
    """Which deliveries of a rule to send again: of events from `since` on and before `until`."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField(required=False, help_text="by default now")
    states = serializers.ListField(
        child=serializers.ChoiceField(
            [Delivery.State.DELIVERED.value, Delivery.State.FAILED.value]
        ),
        required=False,
        allow_empty=False,
        help_text="by default both",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "until" in attrs and attrs["until"] <= attrs["since"]:
            raise serializers.ValidationError({"until": ["It is not after `since`."]})
        return attrs


class Replayed(Camel):
    """How many deliveries were queued again."""

    queued = serializers.IntegerField()


class RuleFilter(Filters):
    """Which rules to list."""

    customer = IdFilter("customer_id")
    webhook = IdFilter("webhook_id")
    trigger = filters.ChoiceFilter(choices=_TRIGGERS)
    enabled = filters.BooleanFilter(field_name="is_enabled")


class Rules(ResourceViewSet):
    resource = "rules"
    singular, plural = "an event rule", "event rules"
    owner = "customer"
    volatile = frozenset({"lowSince"})
    queryset = Rule.objects.all()
    serializer_class = RuleSerializer
    filterset_class = RuleFilter

    @shape(body=NewRule, status=201)
    def create(self, request: Any) -> Response:
        """Adds an event rule, enabled, for what happens from now on."""
        given, own = self.given(), self.actor.customer_id
        customer = given.pop("customer", None)
        owner = own if customer is None else customer.pk
        assert owner is not None
        condition = given.pop("condition", {})
        rule = rules.create(owner, condition=condition, now=timezone.now(), **given)
        self.record("added", rule)
        return self.answer(rule)

    @shape(body=RuleChanges, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes an event rule; its trigger stays."""
        return self.edit(pk, rules.edit)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes an event rule with its events and the record of their deliveries."""
        return self.remove(pk, lambda rule: rules.delete(rule.pk))

    @order()
    def enable(self, request: Any, pk: int) -> Response:
        """Enables an event rule, for what happens from now on."""
        return self.act("enabled", pk, lambda: rules.enable(pk, now=timezone.now()))

    @order()
    def disable(self, request: Any, pk: int) -> Response:
        """Disables an event rule; what it published is still delivered."""
        return self.act("disabled", pk, lambda: rules.disable(pk))

    @order()
    def test(self, request: Any, pk: int) -> Response:
        """Sends an example of an event rule's events to its recipients, with `test` set."""
        rule = self.locked(pk)
        self.count("webhook-test", TESTS)
        rules.send_test(pk, now=timezone.now())
        self.record("tested", rule)
        return self.answer(rule)

    @order(body=Replay, answer=Replayed)
    def replay(self, request: Any, pk: int) -> Response:
        """Sends deliveries of an event rule again, in order and with the same webhook-ids."""
        rule, given, now = self.locked(pk), self.given(), timezone.now()
        self.count("webhook-test", TESTS)
        queued = rules.replay(pk, now=now, **{"until": now, **given})
        text = f"by the management API: {counted(queued, 'delivery', 'deliveries')}"
        self.record("replayed", rule, text=text)
        return Response({"queued": queued})
