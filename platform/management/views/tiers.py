"""Tiers and their limits."""

from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from access.models import Tier
from access.services import tier_edits
from management.serializers import Body, Resource
from management.shapes import shape
from management.views.base import ResourceViewSet

_FIELDS = tuple(each.name for each in Tier._meta.fields if not each.primary_key)


class TierSerializer(Resource):
    """A class of service. A limit of null means unlimited."""

    class Meta:
        model = Tier
        fields = ("id", *_FIELDS)


class TierBody(Body, serializers.ModelSerializer):  # type: ignore[type-arg]
    """A tier to add, or what to change of one."""

    class Meta:
        model = Tier
        fields = _FIELDS


def _save(tier: Tier) -> None:
    tier_edits.require_rank(tier)
    tier_edits.save_tier(tier)


class Tiers(ResourceViewSet):
    resource = "tiers"
    singular, plural = "a tier", "tiers"
    queryset = Tier.objects.all()
    serializer_class = TierSerializer

    @shape(body=TierBody, status=201)
    def create(self, request: Any) -> Response:
        """Adds a tier."""
        tier = Tier(**self.given())
        _save(tier)
        self.record("added", tier)
        return self.answer(tier)

    @shape(body=TierBody, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes a tier's limits, for all of its keys within two seconds."""
        return self.change(self.locked(pk), _save)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes a tier without keys."""
        return self.remove(pk, tier_edits.delete_tier)
