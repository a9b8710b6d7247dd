"""Usage: calls over time, by method and by key, as JSON and as CSV."""

from dataclasses import asdict
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from access.admin import usage_csv
from access.models import ApiKey, UsageDay
from access.services import usage_reports
from access.spans import SPANS, Span, asked_span
from access.usage_queries import Asked
from chain.units import I64_MAX
from management.serializers import Body, Camel
from management.shapes import shape
from management.views.base import ManagementViewSet
from staff.time_ranges import BadRange

_MOST_KEYS = 1_000


class UsageQuery(Body):
    """Which calls: of a key, of a customer, without a key, or all; of one method or outcome."""

    for_staff: ClassVar[tuple[str, ...]] = ("customer", "keyless")

    span = serializers.ChoiceField(
        [each.name for each in SPANS], required=False, help_text="24h by default"
    )
    from_ = serializers.CharField(required=False, help_text="UTC: 2026-01-31T14:05")
    to = serializers.CharField(required=False, help_text="UTC, exclusive; a day is meant whole")
    key = serializers.IntegerField(required=False, min_value=1, max_value=I64_MAX)
    customer = serializers.IntegerField(required=False, min_value=1, max_value=I64_MAX)
    keyless = serializers.BooleanField(required=False)
    method = serializers.CharField(required=False, max_length=60)
    status = serializers.CharField(required=False, max_length=60)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("keyless") and ("key" in attrs or "customer" in attrs):
            raise serializers.ValidationError({"keyless": ["Not with `key` or `customer`."]})
        return attrs


class CsvQuery(UsageQuery):
    """The same, and which file."""

    of = serializers.ChoiceField(
        usage_csv.FILES, default="rows", help_text="calls by step, by method, or every row"
    )


class Counts(Camel):
    """Calls by their kind: only `counted` ones count against a monthly limit."""

    counted = serializers.IntegerField()
    refused = serializers.IntegerField()
    failed = serializers.IntegerField()
    pushed = serializers.IntegerField(help_text="notifications")


class StepSerializer(Camel):
    """Calls of one step of time."""

    start = serializers.DateTimeField()
    counts = Counts()


class MethodSerializer(Camel):
    """Calls of one method with one outcome."""

    method = serializers.CharField()
    status = serializers.CharField(help_text="`ok`, or the refusal's reason")
    calls = serializers.IntegerField()
    milliseconds = serializers.FloatField(help_text="mean duration")


class KeyCallsSerializer(Camel):
    """Calls of one key; null: without a key."""

    key = serializers.IntegerField(source="key.pk", allow_null=True, default=None)
    counts = Counts()


class UsageSerializer(Camel):
    """Calls in a span of time."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    step_seconds = serializers.IntegerField()
    counts = Counts()
    steps = StepSerializer(many=True)
    methods = MethodSerializer(many=True)
    by_key = KeyCallsSerializer(many=True)
    truncated = serializers.BooleanField(
        help_text=f"whether `byKey` has only the {_MOST_KEYS:,} busiest keys: a CSV has all"
    )


class Usage(ManagementViewSet):
    resource = "usage"
    owner = "key__customer"
    queryset = UsageDay.objects.all()
    serializer_class = UsageSerializer

    @shape(query=UsageQuery, many=False)
    def list(self, request: Any) -> Response:
        """Calls over time, by method and outcome, and by key."""
        asked, span = self._asked()
        now = timezone.now()
        report = usage_reports.usage_report(span, now=now, **asdict(asked))
        start, end = span.bounds(now)
        narrow = {"method": asked.method, "status": asked.status}
        by_key = (
            usage_reports.busiest_keys(
                span, now=now, customer_id=asked.customer_id, limit=_MOST_KEYS + 1, **narrow
            )
            if asked.key_id is None and not asked.keyless
            else []
        )
        found = {
            "start": start,
            "end": end,
            "step_seconds": int(report.span.step.total_seconds()),
            "counts": report.counts,
            "steps": report.steps,
            "methods": report.methods,
            "by_key": by_key[:_MOST_KEYS],
            "truncated": len(by_key) > _MOST_KEYS,
        }
        return Response(UsageSerializer(found).data)

    @action(detail=False, methods=["get"])
    @shape(query=CsvQuery, content_type="text/csv", many=False)
    def csv(self, request: Any) -> HttpResponseBase:
        """The same as CSV: calls by step, by method, or every row by key, method and day."""
        asked, _span = self._asked()
        of = self.asked()["of"]
        return usage_csv.answer(of, asked, self.request.query_params, now=timezone.now())

    def _asked(self) -> tuple[Asked, Span]:
        given = self.asked()
        customer, key_id = given.get("customer", self.actor.customer_id), given.get("key")
        if key_id is not None:
            keys = ApiKey.objects.filter(pk=key_id)
            (keys if customer is None else keys.filter(customer=customer)).get()
        try:
            span = asked_span(self.request.query_params, now=timezone.now())
        except BadRange as error:
            raise serializers.ValidationError({"from": [str(error)]}) from None
        asked = Asked(
            key_id=key_id,
            customer_id=customer,
            keyless=given.get("keyless", False),
            method=given.get("method"),
            status=given.get("status"),
        )
        return asked, span
