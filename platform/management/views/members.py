"""Members of customers: the users of their portal."""

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from management.filters import Filters, IdFilter
from management.serializers import Body, OfCustomer, Resource
from management.shapes import order, shape
from management.views.base import ResourceViewSet
from portal.errors import MayNot
from portal.models import Member
from portal.services import mails, members, post
from portal.services.links import Purpose
from portal.views.team import INVITATIONS
from staff import outgoing_mail, provider_accounts, second_factor, sessions
from staff.errors import ActionRefused
from staff.models import App


class MemberSerializer(Resource):
    """A user of a customer's portal."""

    customer: Any = serializers.PrimaryKeyRelatedField(read_only=True)
    email = serializers.CharField(source="user.username", read_only=True)
    state = serializers.SerializerMethodField()
    # A member who has just been invited was not read with it.
    has_second_factor = serializers.BooleanField(
        default=False, help_text="whether signing in takes a code of an authenticator app"
    )
    signed_in_at = serializers.DateTimeField(source="user.last_login", allow_null=True)

    class Meta:
        model = Member
        fields = (
            "id",
            "customer",
            "email",
            "role",
            "state",
            "has_second_factor",
            "created_at",
            "signed_in_at",
        )

    def get_state(self, member: Member) -> str:
        """active, invited (without a password yet) or deactivated"""
        if not member.user.is_active:
            return "deactivated"
        return "invited" if members.is_invited(member.user) else "active"


class MemberWithLink(MemberSerializer):
    """A member; `link` sets the password, once, and is null if it is being mailed."""

    link = serializers.CharField(allow_null=True)

    class Meta(MemberSerializer.Meta):
        fields = (*MemberSerializer.Meta.fields, "link")  # type: ignore[assignment]


class NewMember(OfCustomer):
    """A member to invite. A root key names the customer."""

    email = serializers.EmailField(max_length=150)
    role = serializers.ChoiceField(Member.Role.choices)


class MemberChanges(Body):
    """What may be changed of a member."""

    role = serializers.ChoiceField(Member.Role.choices)


class MemberFilter(Filters):
    """Which members to list."""

    customer = IdFilter("customer_id")
    role = filters.ChoiceFilter(choices=Member.Role.choices)
    email = filters.CharFilter(field_name="user__username", lookup_expr="iexact")


class Members(ResourceViewSet):
    resource = "members"
    singular, plural = "a member", "members"
    owner = "customer"
    volatile = frozenset({"signedInAt"})
    queryset = Member.objects.select_related("user", "customer").annotate(
        has_second_factor=Exists(App.objects.filter(user=OuterRef("user"), confirmed=True))
    )
    serializer_class = MemberSerializer
    filterset_class = MemberFilter

    @shape(body=NewMember, answer=MemberWithLink, status=201)
    def create(self, request: Any) -> Response:
        """Invites a member."""
        given, own = self.given(), self.actor.member
        self.count("invite", INVITATIONS)
        customer = given["customer"] if own is None else own.customer
        member = members.invite(customer, email=given["email"], role=given["role"])
        self.record("invited", member, text=f"by the management API, as {member.role}")
        return self._with_link(member, Purpose.INVITATION)

    @order("invite", answer=MemberWithLink)
    def invite_again(self, request: Any, pk: int) -> Response:
        """Invites a member without a password again; earlier links become invalid."""
        member = self.locked(pk)
        self.count("invite", INVITATIONS)
        members.invite_again(member)
        self.record("invited again", member)
        return self._with_link(member, Purpose.INVITATION)

    @order("password-link", answer=MemberWithLink)
    def password_link(self, request: Any, pk: int) -> Response:
        """Makes a link to a new password for a member who has one. For root keys."""
        self._require_root("sends links to a new password: the sign-in page has it for everyone")
        member = self.locked(pk)
        if not member.user.is_active:
            raise ActionRefused(f"{member} is deactivated: activate first")
        if members.is_invited(member.user):
            raise ActionRefused(f"{member} has no password yet: invite again")
        self.record("made a password link", member)
        return self._with_link(member, Purpose.FORGOTTEN)

    def _with_link(self, member: Member, purpose: Purpose) -> Response:
        link = None
        if outgoing_mail.is_sent():
            transaction.on_commit(lambda: post.post_link(member))
        else:
            link = mails.link_of(member.user, purpose)
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

    @order()
    def deactivate(self, request: Any, pk: int) -> Response:
        """Deactivates a member: sessions end, and sign-ins are refused. For root keys."""
        return self._set_active("deactivated", pk, active=False)

    @order()
    def activate(self, request: Any, pk: int) -> Response:
        """Lets a deactivated member sign in again. For root keys."""
        return self._set_active("activated", pk, active=True)

    @order("second-factor/reset")
    def reset_second_factor(self, request: Any, pk: int) -> Response:
        """Removes a member's second factor, with its recovery codes. All sessions end. Verify first
        that the member asked for it. For root keys.
        """
        self._require_root("resets a second factor")
        user = self.locked(pk).user
        if not second_factor.has_device(user):
            raise ActionRefused("no second factor is set up")
        return self.act(
            "reset the second factor", pk, lambda: second_factor.remove(user, timezone.now())
        )

    @order("provider/unbind")
    def unbind_provider(self, request: Any, pk: int) -> Response:
        """Unbinds a member from the account at the sign-in provider. All sessions end, and the next
        account with the member's verified e-mail address is bound instead. For root keys.
        """
        self._require_root("unbinds accounts of the sign-in provider")
        user = self.locked(pk).user
        if not provider_accounts.is_bound(user):
            raise ActionRefused("no account of the provider is bound")
        provider_accounts.unbind(user)
        member = self.get_object()
        self.record("unbound from the provider", member)
        return self.answer(member)

    @order("sign-out")
    def sign_out(self, request: Any, pk: int) -> Response:
        """Ends all sessions of a member, who can sign in again. For root keys."""
        self._require_root("signs members out")
        member = self.locked(pk)
        sessions.sign_out_everywhere(member.user, timezone.now())
        self.record("signed out everywhere", member)
        return self.answer(member)

    def _require_root(self, what: str) -> None:
        if self.actor.member is not None:
            raise MayNot(f"Only the operator {what}")

    def _set_active(self, verb: str, pk: int, *, active: bool) -> Response:
        self._require_root("activates and deactivates members: remove them instead")
        member = self.locked(pk)
        now = timezone.now()
        return self.act(verb, pk, lambda: members.set_active(member, active=active, now=now))
