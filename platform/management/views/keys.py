"""API keys: list, issue, change, rotate, suspend, resume, revoke."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar

from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from access.callers import ANONYMOUS, SCOPES
from access.key_states import KeyState, condition, state_of
from access.models import ApiKey, Tier
from access.origins import MOST_ORIGINS
from access.services import key_edits, keys, overlaps
from access.store import with_creator
from management.filters import Filters, IdFilter
from management.serializers import Body, OfCustomer, Resource
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from portal.services import key_actions, key_rights
from portal.store import keys_of
from portal.views.keys import ISSUES
from staff.changes import between
from staff.formatting import utc

_MOST_OVERLAP_HOURS = 24 * 90
_TIERS = Tier.objects.exclude(name=ANONYMOUS)


class KeySerializer(Resource):
    """An API key, without its secret."""

    for_staff: ClassVar[tuple[str, ...]] = ("notes",)

    customer: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    tier: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    prefix = serializers.CharField(source="shown_prefix", help_text="how its secret begins")
    last_four = serializers.CharField(help_text="how its secret ends")
    state = serializers.SerializerMethodField()
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES))
    networks = serializers.ListField(child=serializers.CharField())
    origins = serializers.ListField(child=serializers.CharField())
    methods = serializers.ListField(child=serializers.CharField())
    created_by = serializers.SerializerMethodField()
    rotated_from: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    rotated_to = serializers.SerializerMethodField()

    class Meta:
        model = ApiKey
        fields = (
            "id",
            "customer",
            "tier",
            "name",
            "environment",
            "notes",
            "prefix",
            "last_four",
            "state",
            "scopes",
            "networks",
            "origins",
            "methods",
            "requests_per_second",
            "calls_per_month",
            "created_at",
            "created_by",
            "expires_at",
            "suspended_at",
            "revoked_at",
            "last_used_at",
            "last_used_address",
            "rotated_from",
            "rotated_to",
        )

    def get_state(self, key: ApiKey) -> KeyState:
        return state_of(key, now=timezone.now())

    def get_created_by(self, key: ApiKey) -> str | None:
        """who issued it; null if that is not known, and for tokens if it was the operator"""
        found: str | None = key.created_by  # type: ignore[attr-defined]
        return found

    def get_rotated_to(self, key: ApiKey) -> int | None:
        after = getattr(key, "rotated_to", None)
        return None if after is None else after.pk


class IssuedKeySerializer(KeySerializer):
    """A new API key with its secret, which no other response has."""

    secret = serializers.CharField()

    class Meta(KeySerializer.Meta):
        fields = (*KeySerializer.Meta.fields, "secret")  # type: ignore[assignment]


class KeyChanges(Body):
    """What may be changed of a key. Tokens of customers stay within the rights that staff gave."""

    for_staff: ClassVar[tuple[str, ...]] = ("tier", "notes", "calls_per_month")

    name = serializers.CharField(max_length=100, help_text="what the key is for")
    environment = serializers.CharField(max_length=30, required=False, allow_blank=True)
    notes = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    tier: Any = serializers.SlugRelatedField(slug_field="name", queryset=_TIERS, required=False)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(SCOPES), required=False, max_length=len(SCOPES)
    )
    networks = serializers.ListField(
        child=serializers.CharField(max_length=50),
        required=False,
        max_length=100,
        help_text="CIDR list: addresses that may use the key; empty allows any address",
    )
    methods = serializers.ListField(
        child=serializers.CharField(max_length=60),
        required=False,
        help_text="methods that the key may call; empty allows all methods of its scopes",
    )
    origins = serializers.ListField(
        child=serializers.CharField(max_length=260),
        required=False,
        max_length=MOST_ORIGINS,
        help_text="only pages of these web origins may use the key;"
        " empty allows any page and program",
    )
    requests_per_second = serializers.FloatField(
        min_value=0.01,
        max_value=1_000_000,
        required=False,
        allow_null=True,
        help_text="calls per second; null applies its tier's limit, which is the maximum",
    )
    calls_per_month = serializers.IntegerField(
        min_value=1,
        max_value=2**63 - 1,
        required=False,
        allow_null=True,
        help_text="null applies its tier's limit",
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)


class NewKey(OfCustomer, KeyChanges):
    """A key to issue. A root key names the customer and the tier. The token of a customer takes the
    tier and at most the rights of the key `like`, by default of the one with the lowest tier.
    """

    for_staff: ClassVar[tuple[str, ...]] = (*OfCustomer.for_staff, *KeyChanges.for_staff)
    for_customers: ClassVar[tuple[str, ...]] = ("like",)
    required_of_staff: ClassVar[tuple[str, ...]] = ("customer", "tier")

    like = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class Overlap(Body):
    """How long the old key works beside its successor."""

    overlap_hours = serializers.IntegerField(min_value=0, max_value=_MOST_OVERLAP_HOURS, default=24)


class LongerOverlap(Body):
    """How much longer the old key works beside its successor."""

    more_hours = serializers.IntegerField(min_value=1, max_value=_MOST_OVERLAP_HOURS)


class KeyFilter(Filters):
    """Which keys to list."""

    customer = IdFilter("customer_id")
    tier = filters.CharFilter(field_name="tier__name")
    state = filters.ChoiceFilter(
        choices=[(each.value, each.value) for each in KeyState], method="in_state"
    )
    environment = filters.CharFilter()
    name = filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = ApiKey
        fields: ClassVar[list[str]] = []

    def in_state(self, rows: Any, name: str, value: str) -> Any:
        return rows.filter(condition(KeyState(value), now=timezone.now()))


class Keys(ResourceViewSet):
    resource = "keys"
    singular, plural = "an API key", "API keys"
    owner = "customer"
    volatile = frozenset({"lastUsedAt", "lastUsedAddress", "state"})
    queryset = ApiKey.objects.select_related("tier", "rotated_to").defer("digest")
    serializer_class = KeySerializer
    filterset_class = KeyFilter

    def get_queryset(self) -> Any:
        return with_creator(super().get_queryset(), of_customer=self.actor.member is not None)

    @shape(body=NewKey, answer=IssuedKeySerializer, status=201)
    def create(self, request: Any) -> Response:
        """Issues a key. Only this response has its secret."""
        given, now = self.given(), timezone.now()
        self.count("issue", ISSUES)
        if self.actor.member is None:
            issued = keys.issue_key(given.pop("customer"), **_ordered(given))
        else:
            issued = self._issue_like(given, now)
        self.record("issued", issued.key)
        return self._answer_issued(issued)

    def _answer_issued(self, issued: keys.IssuedKey) -> Response:
        return self.answer(self.get_queryset().get(pk=issued.key.pk), secret=issued.secret)

    def _issue_like(self, given: dict[str, Any], now: Any) -> keys.IssuedKey:
        customer_id = self.actor.customer_id
        assert customer_id is not None
        models = key_rights.models_of(keys_of(customer_id), now)
        like = given.pop("like", models[0].pk if models else 0)
        model = next((key for key in models if key.pk == like), None)
        rights = key_rights.Given() if model is None else key_rights.given(model)
        wish = key_actions.Wish(
            **{
                "environment": "",
                "networks": (),
                "origins": (),
                **asdict(rights),
                **given,
            }
        )
        return key_actions.issue(customer_id, like=like, wish=wish, now=now)

    @shape(body=KeyChanges, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes what a key may do, without changing its secret. Applies within two seconds."""
        key, changes, now = self.locked(pk), self.given(), timezone.now()
        before = {name: getattr(key, name) for name in changes}
        member = self.actor.member
        if member is None:
            changed = key_edits.edit_key(pk, now=now, **_ordered(changes))
        else:
            kept = {name: getattr(key, name) for name in key_actions.Wish.__slots__}
            wish = key_actions.Wish(**{**kept, **changes})
            changed = key_actions.edit(member.customer_id, pk, wish=wish, now=now)
        self.record("changed", changed, changes=between(before, changed))
        return self.answer(self.get_object())

    @order(body=Overlap, answer=IssuedKeySerializer, status=201)
    def rotate(self, request: Any, pk: int) -> Response:
        """Issues a successor with the same rights. The old key works for the overlap."""
        key, now = self.locked(pk), timezone.now()
        self.count("issue", ISSUES)
        overlap, member = timedelta(hours=self.given()["overlap_hours"]), self.actor.member
        if member is None:
            issued = keys.rotate_key(pk, overlap=overlap, now=now)
        else:
            issued = key_actions.rotate(member.customer_id, pk, overlap=overlap, now=now)
        self.record("rotated", key, text=f"by the management API; replaced by {issued.key}")
        self.record("issued", issued.key, text=f"by the management API, in place of {key}")
        return self._answer_issued(issued)

    @order("overlap/end")
    def end_overlap(self, request: Any, pk: int) -> Response:
        """Ends the overlap of a rotation: the old key stops working within two seconds."""
        return self._act("ended the overlap of", overlaps.end_overlap, key_actions.end_overlap)

    @order("overlap/extend", body=LongerOverlap)
    def extend_overlap(self, request: Any, pk: int) -> Response:
        """Extends the overlap of a rotation."""
        now = timezone.now()
        until = (self.locked(pk).expires_at or now) + timedelta(hours=self.given()["more_hours"])
        return self._act(
            "extended the overlap of",
            overlaps.extend_overlap,
            key_actions.extend_overlap,
            text=f"by the management API; it ends {utc(until)}",
            until=until,
        )

    @order()
    def suspend(self, request: Any, pk: int) -> Response:
        """Suspends a key: calls with it are answered 403 within two seconds, until it is
        resumed.
        """
        return self._act("suspended", keys.suspend_key, key_actions.suspend)

    @order()
    def resume(self, request: Any, pk: int) -> Response:
        """Resumes a suspended key."""
        return self._act("resumed", keys.resume_key, key_actions.resume)

    @order()
    def revoke(self, request: Any, pk: int) -> Response:
        """Revokes a key: calls with it are answered 401 within two seconds, for good."""
        return self._act("revoked", keys.revoke_key, key_actions.revoke)

    def _act(
        self, verb: str, of_staff: Any, of_customer: Any, *, text: str = "", **more: Any
    ) -> Response:
        """Runs the service of staff or that of customers, within their rights."""
        pk, member = self.kwargs["pk"], self.actor.member
        now = timezone.now()

        def run() -> None:
            if member is None:
                of_staff(pk, now=now, **more)
            else:
                of_customer(member.customer_id, pk, now=now, **more)

        return self.act(verb, pk, run, **({"text": text} if text else {}))


def _ordered(given: dict[str, Any]) -> Any:
    """The values for a service: scopes in their order, each once."""
    if "scopes" in given:
        given["scopes"] = [scope for scope in SCOPES if scope in given["scopes"]]
    return given
