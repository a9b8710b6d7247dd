"""Gaps, coverage, alarms, the audit log and submissions."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Subquery, Value, When
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from access.models import ApiKey
from gaps.coverage import CoverageConfig, window_of
from gaps.life_cycle import AreaGaps
from gaps.slot_gap import IS_STATE, GapState, SlotGap
from historical.coverage.services.coverage import coverage as ledger_coverage
from historical.coverage.services.gaps import ledger_gaps
from historical.models import Gap as LedgerGap
from jsonrpc.wire import encode
from management.filters import Filters, IdFilter
from management.serializers import Body, Camel, Resource
from management.shapes import order, shape
from management.views.base import ManagementViewSet, ResourceViewSet
from operations.models import Alarm
from operations.services import alarms
from portal.store import any_key
from priority.fates.store import cosubmitters
from priority.fates.store.fates import with_own_bundles
from priority.fates.store.shared import bundle_of
from priority.models import CoSubmitter, Submission
from priority.submissions import State
from rewind.coverage.services.coverage import coverage as archive_coverage
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import Gap as ArchiveGap
from staff.errors import ActionRefused
from staff.models import AuditEntry

_MOST_SLOT = 2**63 - 1


class _GapSerializer(Resource):
    """Slots that are not stored, both ends included."""

    state = serializers.ChoiceField([each.value for each in GapState])
    status = serializers.CharField()
    history = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))

    class Meta:
        fields = (
            "id",
            "from_slot",
            "to_slot",
            "status",
            "state",
            "cause",
            "opened_at",
            "closed_at",
            "closed_by",
            "tries",
            "next_try_at",
            "history",
        )


class LedgerGapSerializer(_GapSerializer):
    class Meta(_GapSerializer.Meta):
        model = LedgerGap


class ArchiveGapSerializer(_GapSerializer):
    class Meta(_GapSerializer.Meta):
        model = ArchiveGap


class GapFilter(Filters):
    """Which gaps to list."""

    state = filters.ChoiceFilter(
        choices=[(each.value, each.value) for each in GapState], method="in_state"
    )
    cause = filters.CharFilter()
    slot = IdFilter(method="with_slot")

    def in_state(self, rows: Any, name: str, value: str) -> Any:
        return rows.filter(IS_STATE[GapState(value)])

    def with_slot(self, rows: Any, name: str, value: Any) -> Any:
        return rows.filter(from_slot__lte=int(value), to_slot__gte=int(value))


class _Gaps(ResourceViewSet):
    resource = "gaps"
    singular, plural = "a gap", "gaps"
    filterset_class = GapFilter
    volatile = frozenset({"tries", "nextTryAt", "history"})
    gaps: ClassVar[AreaGaps[Any]]

    @order()
    def retry(self, request: Any, pk: int) -> Response:
        """Makes an open gap due now, even if it was given up."""
        return self._order("ordered a try", self.gaps.retry_now)

    @order("give-up")
    def give_up(self, request: Any, pk: int) -> Response:
        """Stops attempts on an open gap. It is closed if its slots arrive after all."""
        return self._order("gave up", self.gaps.give_up)

    def _order(self, verb: str, do: Callable[..., int]) -> Response:
        gap: SlotGap = self.locked(self.kwargs["pk"])
        if not do([gap.pk], by=self.actor.get_username(), now=timezone.now()):
            raise ActionRefused("it is closed, or given up already")
        self.record(verb, gap)
        return self.answer(self.get_object())


class LedgerGaps(_Gaps):
    queryset = LedgerGap.objects.all()
    serializer_class = LedgerGapSerializer
    gaps = ledger_gaps


class ArchiveGaps(_Gaps):
    queryset = ArchiveGap.objects.all()
    serializer_class = ArchiveGapSerializer
    gaps = archive_gaps


class CoverageQuery(Body):
    """Which window, and how many of its gaps."""

    from_slot = serializers.IntegerField(required=False, min_value=0, max_value=_MOST_SLOT)
    to_slot = serializers.IntegerField(required=False, min_value=0, max_value=_MOST_SLOT)
    max_gaps = serializers.IntegerField(required=False, min_value=0, max_value=10_000)


class CoverageSerializer(Camel):
    """The results of getLedgerCoverage and getRewindCoverage."""

    ledger = serializers.DictField()
    archive = serializers.DictField()


class Coverage(ManagementViewSet):
    resource = "gaps"
    queryset = LedgerGap.objects.none()
    serializer_class = CoverageSerializer

    @shape(query=CoverageQuery, many=False)
    def list(self, request: Any) -> Response:
        """What the ledger and the archive have, as getLedgerCoverage and getRewindCoverage say."""
        asked = self.asked()
        if asked.get("from_slot", 0) > asked.get("to_slot", _MOST_SLOT):
            raise serializers.ValidationError({"toSlot": ["It is below `fromSlot`."]})
        window = window_of(CoverageConfig(**asked))
        parts = (encode(ledger_coverage(window)), encode(archive_coverage(window)))
        return Response(b'{"ledger":%b,"archive":%b}' % parts)


class AlarmSerializer(Resource):
    """A problem for the operator."""

    rule = serializers.CharField(source="name")
    acknowledged_by = serializers.CharField(allow_null=True)
    runbook_url = serializers.SerializerMethodField()

    class Meta:
        model = Alarm
        fields = (
            "id",
            "rule",
            "subject",
            "severity",
            "text",
            "began_at",
            "opened_at",
            "closed_at",
            "acknowledged_at",
            "acknowledged_by",
            "runbook_url",
        )

    def get_runbook_url(self, alarm: Alarm) -> str:
        """the paragraph of the docs on the rule: when it opens, and what to do"""
        return alarms.runbook_url(alarm.name)


class AlarmFilter(Filters):
    """Which alarms to list."""

    rule = filters.CharFilter(field_name="name")
    severity = filters.ChoiceFilter(choices=Alarm.Severity.choices)
    open = filters.BooleanFilter(field_name="closed_at", lookup_expr="isnull")


class Alarms(ResourceViewSet):
    resource = "alarms"
    singular, plural = "an alarm", "alarms"
    volatile = frozenset({"text"})
    queryset = Alarm.objects.filter(opened_at__isnull=False).select_related("acknowledged_by")
    serializer_class = AlarmSerializer
    filterset_class = AlarmFilter

    @order()
    def acknowledge(self, request: Any, pk: int) -> Response:
        """Acknowledges an open alarm."""
        alarm = self.locked(pk)
        if not alarms.acknowledge(pk, user_id=None, now=timezone.now()):
            raise ActionRefused("it is closed, or acknowledged already")
        self.record("acknowledged", alarm, text=alarm.text)
        return self.answer(self.get_object())


class AuditEntrySerializer(Resource):
    """One action of staff, of a customer, or of a program with a root key."""

    changes = serializers.DictField(help_text="{field: [before, after]}")
    digest = serializers.SerializerMethodField()

    class Meta:
        model = AuditEntry
        fields = (
            "id",
            "at",
            "who",
            "address",
            "request_id",
            "verb",
            "subject_type",
            "subject_id",
            "subject",
            "text",
            "changes",
            "digest",
        )

    def get_digest(self, entry: AuditEntry) -> str:
        """SHA-256 over the entry before and this one's content"""
        return bytes(entry.digest).hex()


class AuditFilter(Filters):
    """Which entries to list."""

    who = filters.CharFilter()
    verb = filters.CharFilter()
    subject_type = filters.CharFilter()
    subject_id = filters.CharFilter()
    since = filters.IsoDateTimeFilter(field_name="at", lookup_expr="gte")
    until = filters.IsoDateTimeFilter(field_name="at", lookup_expr="lt")


class AuditLog(ResourceViewSet):
    resource = "audit"
    singular, plural = "an entry of the audit log", "entries of the audit log"
    queryset = AuditEntry.objects.all()
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilter


class SubmissionSerializer(Resource):
    """An accepted transaction and what became of it; final once `settledAt` is set."""

    signature = serializers.CharField()
    key: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    bundle_id = serializers.CharField(source="bundle.bundle_id", allow_null=True, default=None)
    tip_address = serializers.CharField(allow_null=True)
    err = serializers.JSONField(allow_null=True)

    class Meta:
        model = Submission
        fields = (
            "id",
            "signature",
            "kind",
            "key",
            "tier",
            "bundle_id",
            "request_id",
            "tip_address",
            "tip_lamports",
            "accepted_at",
            "accepted_slot",
            "state",
            "commitment",
            "reason",
            "slot",
            "transaction_index",
            "err",
            "tries",
            "sent_at",
            "seen_at",
            "settled_at",
        )


class SubmissionFilter(Filters):
    """Which submissions to list."""

    key = IdFilter(method="of_key")
    state = filters.ChoiceFilter(choices=[(each, each) for each in State])
    kind = filters.ChoiceFilter(field_name="submitted_as", choices=Submission.Kind.choices)
    since = filters.IsoDateTimeFilter(field_name="submitted_at", lookup_expr="gte")
    until = filters.IsoDateTimeFilter(field_name="submitted_at", lookup_expr="lt")

    def of_key(self, rows: Any, name: str, value: Any) -> Any:
        """Also those that another key had submitted before."""
        keys = ApiKey.objects.filter(pk=int(value))
        customer_id = self.request.user.customer_id
        if customer_id is not None:
            keys = keys.filter(customer=customer_id)
        also = CoSubmitter.objects.filter(name=OuterRef("signature"), key__in=keys)
        return rows.filter(Q(key__in=keys) | Exists(also))


class Submissions(ResourceViewSet):
    resource = "submissions"
    singular, plural = "a submission", "submissions"
    owner = "key__customer"
    queryset = Submission.objects.select_related("bundle")
    serializer_class = SubmissionSerializer
    filterset_class = SubmissionFilter

    def get_queryset(self) -> Any:
        """Those of the token's customer, also if another customer had submitted them before; when
        and as what it submitted each.
        """
        customer_id = self.actor.customer_id
        also = CoSubmitter.objects.filter(key__customer=customer_id)
        if customer_id is None or not also.exists():
            rows = super().get_queryset()
            return rows.annotate(submitted_at=F("accepted_at"), submitted_as=F("kind"))
        own = Q(key__customer=customer_id)
        bundle = RawSQL(bundle_of(str(int(customer_id)), "priority_submission"), ())
        noted = also.filter(name=OuterRef("signature"))
        kinds = Submission.Kind
        rows = self.queryset.filter(own | Q(signature__in=also.values("name")))
        return rows.alias(own_bundle=bundle).annotate(
            submitted_at=Case(
                When(own, then="accepted_at"),
                default=Subquery(noted.order_by("pk").values("accepted_at")[:1]),
            ),
            submitted_as=Case(
                When(own, then="kind"),
                When(own_bundle__isnull=False, then=Value(kinds.BUNDLE)),
                default=Value(kinds.TRANSACTION),
                output_field=CharField(),
            ),
        )

    def paginate_queryset(self, queryset: Any) -> Any:
        return self._seen(super().paginate_queryset(queryset))

    def get_object(self) -> Any:
        """Raises ObjectDoesNotExist."""
        return self._seen([super().get_object()])[0]

    def _seen(self, rows: Any) -> Any:
        customer_id = self.actor.customer_id
        if customer_id is None:
            return rows
        seen = cosubmitters.seen_by(customer_id, rows)
        return with_own_bundles(seen, any_key(customer_id))
