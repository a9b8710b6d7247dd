"""Upstreams and their circuit breakers."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from access.models import Tier
from management.serializers import Body, Resource
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from priority.upstreams.models import Upstream
from priority.upstreams.services import actions, editing
from staff.changes import between, host_of

_FIELDS = ("name", "kind", "url", "weight", "is_enabled", "own_tip_lamports", "timeout_ms")


class UpstreamSerializer(Resource):
    """A service that sends to the leaders; only its host is shown, its URL may hold a key."""

    host = serializers.SerializerMethodField()
    tiers: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)

    class Meta:
        model = Upstream
        fields = (
            "id",
            "name",
            "kind",
            "host",
            "tiers",
            "weight",
            "is_enabled",
            "own_tip_lamports",
            "timeout_ms",
            "draining_since",
            "broken_until",
            "broken_reason",
        )

    def get_host(self, upstream: Upstream) -> str | None:
        """null: those of the followed chain"""
        return host_of(upstream.url)


def _names_of_tiers(upstream: Upstream) -> list[str]:
    return sorted(tier.name for tier in upstream.tiers.all())


class UpstreamBody(Body, serializers.ModelSerializer):  # type: ignore[type-arg]
    """An upstream to add, or what to change of one. Without tiers it serves all of them."""

    tiers: Any = serializers.SlugRelatedField(
        slug_field="name", many=True, queryset=Tier.objects.all(), required=False
    )

    class Meta:
        model = Upstream
        fields = (*_FIELDS, "tiers")


class Upstreams(ResourceViewSet):
    resource = "upstreams"
    singular, plural = "an upstream", "upstreams"
    volatile = frozenset({"brokenUntil", "brokenReason"})
    unshown = ("url",)
    queryset = Upstream.objects.prefetch_related("tiers")
    serializer_class = UpstreamSerializer

    @shape(body=UpstreamBody, status=201)
    def create(self, request: Any) -> Response:
        """Adds an upstream."""
        given = self.given()
        tiers = given.pop("tiers", [])
        upstream = Upstream(**given)
        editing.save_upstream(upstream, tiers)
        self.record("added", upstream)
        return self.answer(upstream)

    @shape(body=UpstreamBody, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes an upstream. Landers follow within two seconds."""
        upstream = self.locked(pk)
        given = self.given(upstream)
        tiers = given.pop("tiers", None)
        before = {name: getattr(upstream, name) for name in given}
        served = _names_of_tiers(upstream)
        for name, value in given.items():
            setattr(upstream, name, value)
        if "is_enabled" in given and given["is_enabled"] != before["is_enabled"]:
            upstream.draining_since = None
        editing.save_upstream(upstream, tiers)
        changes, changed = between(before, upstream), self.get_object()
        if _names_of_tiers(changed) != served:
            changes["tiers"] = [served, _names_of_tiers(changed)]
        self.record("changed", upstream, changes=changes)
        return self.answer(changed)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes an upstream."""
        return self.remove(pk, lambda upstream: upstream.delete())

    @order()
    def enable(self, request: Any, pk: int) -> Response:
        """Enables an upstream: it takes new submissions."""
        return self.act("enabled", pk, lambda: actions.enable(pk))

    @order()
    def drain(self, request: Any, pk: int) -> Response:
        """Drains an upstream: new submissions go elsewhere, earlier ones continue."""
        return self.act("drained", pk, lambda: actions.drain(pk, now=timezone.now()))

    @order()
    def disable(self, request: Any, pk: int) -> Response:
        """Disables an upstream: nothing more is sent to it."""
        return self.act("disabled", pk, lambda: actions.disable(pk))

    @order("breaker/reset")
    def reset_breaker(self, request: Any, pk: int) -> Response:
        """Resets the circuit breaker: the upstream is tried again at once."""
        upstream = self.locked(pk)
        if actions.reset_breaker(pk, now=timezone.now()):
            self.record("reset the breaker of", upstream)
        return self.answer(self.get_object())
