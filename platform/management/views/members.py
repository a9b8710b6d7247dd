"""Members of customers: the users of their portal."""

from typing import Any, ClassVar

from django.db import transaction
from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from access.models import Customer
from management.filters import IdFilter
from management.serializers import Body, Camel
from management.shapes import shape
from management.views.base import ResourceViewSet
from portal.errors import MayNot
from portal.models import Member
from portal.services import mails, members, post
from portal.services.links import Purpose
from portal.views.team import INVITATIONS
from staff import outgoing_mail


class MemberSerializer(Camel, serializers.ModelSerializer):  # type: ignore[type-arg]
    """A user of a customer's portal."""

    customer: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    email = serializers.CharField(source="user.username", read_only=True)
    state = serializers.SerializerMethodField()
    signed_in_at = serializers.DateTimeField(source="user.last_login", allow_null=True)

    class Meta:
        model = Member
        fields = ("id", "customer", "email", "role", "state", "created_at", "signed_in_at")
        read_only_fields = fields

    def get_state(self, member: Member) -> str:
        """active, invited (without a password yet) or deactivated"""
        if not member.user.is_active:
            return "deactivated"
        return "invited" if members.is_invited(member.user) else "active"


class InvitedSerializer(MemberSerializer):
    """An invited member; `link` sets the password, and is null if it is being mailed."""

    link = serializers.CharField(allow_null=True)

    class Meta(MemberSerializer.Meta):
        fields = (*MemberSerializer.Meta.fields, "link")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]


class NewMember(Body):
    """A member to invite. A root key names the customer."""

    for_staff: ClassVar[tuple[str, ...]] = ("customer",)

    customer: Any = serializers.PrimaryKeyRelatedField(
        queryset=Customer.objects.all(), required=False
    )
    email = serializers.EmailField(max_length=150)
    role = serializers.ChoiceField(Member.Role.choices)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if self.context["actor"].member is None and "customer" not in attrs:
            raise serializers.ValidationError({"customer": ["This field is required."]})
        return attrs


class MemberChanges(Body):
    """What may be changed of a member."""

    role = serializers.ChoiceField(Member.Role.choices)


class MemberFilter(filters.FilterSet):  # type: ignore[misc]
    """Which members to list."""

    customer = IdFilter("customer_id")
    role = filters.ChoiceFilter(choices=Member.Role.choices)
    email = filters.CharFilter(field_name="user__username", lookup_expr="iexact")


class Members(ResourceViewSet):
    resource = "members"
    singular, plural = "a member", "members"
    owner = "customer"
    volatile = frozenset({"signedInAt"})
    queryset = Member.objects.select_related("user", "customer")
    serializer_class = MemberSerializer
    filterset_class = MemberFilter

    @shape(body=NewMember, answer=InvitedSerializer, status=201)
    def create(self, request: Any) -> Response:
        """Invites a member."""
        given, own = self.given(), self.actor.member
        self.count("invite", INVITATIONS)
        customer = given["customer"] if own is None else own.customer
        member = members.invite(customer, email=given["email"], role=given["role"])
        self.record("invited", member, text=f"by the management API, as {member.role}")
        return self._invited(member)

    @action(detail=True, methods=["post"], url_path="invite")
    @shape(answer=InvitedSerializer)
    def invite_again(self, request: Any, pk: int) -> Response:
        """Invites a member again, who has no password yet; earlier links become void."""
        member = self.locked(pk)
        self.count("invite", INVITATIONS)
        members.invite_again(member)
        self.record("invited again", member)
        return self._invited(member)

    def _invited(self, member: Member) -> Response:
        link = None
        if outgoing_mail.is_sent():
            transaction.on_commit(lambda: post.post_link(member))
        else:
            link = mails.link_of(member.user, Purpose.INVITATION)
        return self.answer(member, link=link)

    @shape(body=MemberChanges, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes a member's role."""
        member, own = self.locked(pk), self.actor.member
        before, role = member.role, self.given().get("role", member.role)
        if own is None:
            members.set_role(member, role)
        else:
            members.change_role(own, pk, role=role)
        self.record("changed", member, changes={"role": [before, role]})
        return self.answer(self.get_object())

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Removes a member, whose sessions end."""
        own = self.actor.member
        return self.remove(pk, members.forget if own is None else lambda _: members.remove(own, pk))

    @action(detail=True, methods=["post"])
    @shape()
    def deactivate(self, request: Any, pk: int) -> Response:
        """Deactivates a member: sessions end, and sign-ins are refused. For root keys."""
        return self._set_active("deactivated", pk, active=False)

    @action(detail=True, methods=["post"])
    @shape()
    def activate(self, request: Any, pk: int) -> Response:
        """Lets a deactivated member sign in again. For root keys."""
        return self._set_active("activated", pk, active=True)

    def _set_active(self, verb: str, pk: int, *, active: bool) -> Response:
        if self.actor.member is not None:
            raise MayNot("Only the operator activates and deactivates members: remove them instead")
        member = self.locked(pk)
        now = timezone.now()
        return self.act(verb, pk, lambda: members.set_active(member, active=active, now=now))
