"""TTL classes of tip addresses, and the tip ledger."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from management.filters import Filters, IdFilter
from management.serializers import Body, Resource
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from staff.errors import ActionRefused
from tipping.models import TipBatch, TipEntry, TipSweep, TipSweepPart, TtlClass
from tipping.services import batches, desk, sweeping, ttl_classes

_FIELDS = ("ttl_seconds", "window_seconds", "batch_size", "is_default")


class TtlClassSerializer(Resource):
    """How long tip addresses live, and how many are prepared."""

    class Meta:
        model = TtlClass
        fields = ("id", *_FIELDS)


class TtlClassBody(Body, serializers.ModelSerializer):  # type: ignore[type-arg]
    """A TTL class to add, or what to change of one. A new default replaces the old one."""

    # Without the constraint of one default: saving moves it.
    is_default = serializers.BooleanField(required=False)

    class Meta:
        model = TtlClass
        fields = _FIELDS


class TtlClasses(ResourceViewSet):
    resource = "tips"
    singular, plural = "a TTL class", "TTL classes"
    queryset = TtlClass.objects.all()
    serializer_class = TtlClassSerializer

    @shape(body=TtlClassBody, status=201)
    def create(self, request: Any) -> Response:
        """Adds a TTL class."""
        row = TtlClass(**self.given())
        _save(row)
        self.record("added", row)
        return self.answer(row)

    @shape(body=TtlClassBody, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes a TTL class."""
        return self.change(self.locked(pk), _save)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes a TTL class that has not issued any address."""
        return self.remove(pk, ttl_classes.delete_ttl_class)

    @order()
    def rotate(self, request: Any, pk: int) -> Response:
        """Closes the open batch now and opens the next prepared one."""
        opened = batches.rotate(self.locked(pk).pk, now=timezone.now(), wait=True, force=True)
        return self._done("rotated", opened, "no batch is prepared that could be opened")

    @order()
    def prepare(self, request: Any, pk: int) -> Response:
        """Prepares one more batch of addresses."""
        row = self.get_object()
        prepared = next(
            each.prepared
            for each in batches.overview(now=timezone.now())
            if each.ttl_class.pk == row.pk
        )
        seed = settings.TIP_SECRET_SEED
        made = batches.prepare(pk, seed=seed, now=timezone.now(), keep=prepared + 1)
        return self._done("prepared a batch of", made, "another batch is being prepared: try again")

    @order()
    def sweep(self, request: Any, pk: int) -> Response:
        """Orders sweeps of the expired batches to the treasury."""
        waiting = desk.batches_to_sweep(self.get_object(), now=timezone.now())
        return self._done("ordered sweeps of", sweeping.recheck(waiting), "nothing is to be swept")

    def _done(self, verb: str, done: object, in_vain: str) -> Response:
        if not done:
            raise ActionRefused(in_vain)
        row = self.get_object()
        self.record(verb, row)
        return self.answer(row)


def _save(row: TtlClass) -> None:
    row.full_clean(exclude={"is_default"}, validate_constraints=False)
    ttl_classes.save_ttl_class(row)


class TipBatchSerializer(Resource):
    """Tip addresses of one TTL class that are issued in one window and expire together."""

    ttl_class: Any = serializers.PrimaryKeyRelatedField(read_only=True)

    class Meta:
        model = TipBatch
        fields = (
            "id",
            "number",
            "ttl_class",
            "ttl_seconds",
            "size",
            "state",
            "prepared_at",
            "opened_at",
            "window_ends_at",
            "expires_at",
            "closed_at",
            "swept_at",
            "balances_read_at",
            "sweep_note",
        )


class TipBatchFilter(Filters):
    """Which batches to list."""

    ttl_class = IdFilter("ttl_class_id")
    state = filters.ChoiceFilter(choices=TipBatch.State.choices)
    swept = filters.BooleanFilter(field_name="swept_at", lookup_expr="isnull", exclude=True)


class TipBatches(ResourceViewSet):
    resource = "tips"
    singular, plural = "a batch of tip addresses", "batches of tip addresses"
    volatile = frozenset({"balancesReadAt", "sweepNote"})
    queryset = TipBatch.objects.all()
    serializer_class = TipBatchSerializer
    filterset_class = TipBatchFilter

    @order()
    def sweep(self, request: Any, pk: int) -> Response:
        """Orders a sweep of a closed batch: its balances are read and swept within seconds, or when
        its addresses have expired.
        """
        batch = self.locked(pk)
        if not sweeping.recheck([pk]):
            raise ActionRefused(
                f"batch {batch.number} is {batch.state}: only closed ones are swept"
            )
        self.record("ordered the sweep of", batch)
        return self.answer(self.get_object())


class SweptAddressSerializer(Resource):
    """An address of a sweep, and the balance that it moves."""

    address = serializers.CharField(source="address_id")

    class Meta:
        model = TipSweepPart
        fields = ("address", "lamports")


class TipSweepSerializer(Resource):
    """One transaction that moves the balances of tip addresses to the treasury."""

    signature = serializers.CharField()
    treasury = serializers.CharField()
    addresses = SweptAddressSerializer(source="parts", many=True)

    class Meta:
        model = TipSweep
        fields = (
            "id",
            "signature",
            "treasury",
            "state",
            "lamports",
            "fee",
            "planned_at",
            "settled_at",
            "slot",
            "reason",
            "addresses",
        )


class TipSweepFilter(Filters):
    """Which sweeps to list."""

    state = filters.ChoiceFilter(choices=TipSweep.State.choices)


class TipSweeps(ResourceViewSet):
    resource = "tips"
    singular, plural = "a sweep", "sweeps"
    queryset = TipSweep.objects.defer("wire").prefetch_related("parts")
    serializer_class = TipSweepSerializer
    filterset_class = TipSweepFilter


class TipSerializer(Resource):
    """By how much one finalized transaction changed the balance of one of our addresses."""

    signature = serializers.CharField()
    address = serializers.CharField(source="pubkey")
    key: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)

    class Meta:
        model = TipEntry
        fields = (
            "id",
            "signature",
            "address",
            "kind",
            "lamports",
            "slot",
            "is_static",
            "key",
            "recorded_at",
        )


class TipFilter(Filters):
    """Which tips to list."""

    kind = filters.ChoiceFilter(choices=TipEntry.Kind.choices)
    key = IdFilter("key_id")
    slot = IdFilter()


class Tips(ResourceViewSet):
    resource = "tips"
    singular, plural = "an entry of the tip ledger", "entries of the tip ledger"
    queryset = TipEntry.objects.all()
    serializer_class = TipSerializer
    filterset_class = TipFilter
