"""Portal users of customers, and inviting them."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.widgets import UnfoldAdminEmailInputWidget

from access.models import Customer
from portal.admin.member_actions import ACTIONS
from portal.forms.team import ROLES
from portal.models import Member
from portal.services import links, mails, members, post
from portal.services.links import Purpose
from staff.columns import column
from staff.filters import row_filter
from staff.formatting import ago, link
from staff.inviting import InvitingAdmin, sign_in_badge

_HAS_DEVICE = Exists(TOTPDevice.objects.filter(user=OuterRef("user"), confirmed=True))


class InviteForm(forms.ModelForm):  # type: ignore[type-arg]
    """Inviting a portal user."""

    email = forms.EmailField(
        label="E-mail address",
        max_length=150,
        widget=UnfoldAdminEmailInputWidget(),
        help_text="The user signs in with it. The next page shows the link to set a password",
    )
    role = forms.ChoiceField(
        choices=ROLES,
        initial=Member.Role.OWNER,
        widget=forms.RadioSelect(attrs={"class": "tm-box"}),
    )

    class Meta:
        model = Member
        fields = ("customer", "role")


class RoleForm(forms.ModelForm):  # type: ignore[type-arg]
    """The role of a portal user."""

    role = forms.ChoiceField(choices=ROLES, widget=forms.RadioSelect(attrs={"class": "tm-box"}))

    class Meta:
        model = Member
        fields = ("role",)


@admin.register(Member)
class MemberAdmin(InvitingAdmin):
    invite_title = "Invite a portal user"
    admin_actions = ACTIONS
    list_display = ("email", "customer", "role", "state", "second_factor", "signed_in")
    list_select_related = ("user", "customer")
    list_filter = (row_filter("customer", "customer", Customer), "role")
    ordering = ("user__username",)
    search_fields = ("user__username", "customer__name")
    search_help_text = "E-mail address or customer"
    autocomplete_fields = ("customer",)
    plain_choices = ("customer",)
    shown: ClassVar = ("email", "belongs_to", "state", "second_factor", "signed_in", "invited_at")

    # --- what is shown ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[Member]:
        queryset: QuerySet[Member] = super().get_queryset(request)
        return queryset.select_related("user", "customer").annotate(has_device=_HAS_DEVICE)

    def get_fieldsets(self, request: HttpRequest, obj: Member | None = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("customer", "email", "role")}),)
        return ((None, {"fields": self.shown}), ("Rights", {"fields": ("role",)}))

    def get_readonly_fields(self, request: HttpRequest, obj: Member | None = None) -> Any:
        return () if obj is None else self.shown

    def get_form(
        self, request: HttpRequest, obj: Member | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = RoleForm if change else InviteForm
        return super().get_form(request, obj, change=change, **kwargs)

    email = column("e-mail address", str, "user__username")
    belongs_to = column(
        "customer",
        lambda row: link(row.customer, "access_customer_change", row.customer_id),
    )

    state = column(
        "state",
        lambda row: sign_in_badge(
            is_active=row.user.is_active, is_invited=members.is_invited(row.user)
        ),
        "user__is_active",
    )
    signed_in = column("last sign-in", lambda row: ago(row.user.last_login), "user__last_login")
    invited_at = column("invited", lambda row: ago(row.created_at))

    # --- what may be changed ---

    def save_model(self, request: HttpRequest, obj: Member, form: Any, change: bool) -> None:
        if change:
            members.set_role(obj, form.cleaned_data["role"])
            return
        given = form.cleaned_data
        new = members.invite(given["customer"], email=given["email"], role=given["role"])
        obj.__dict__.update(new.__dict__)

    def delete_model(self, request: HttpRequest, obj: Member) -> None:
        members.forget(obj)

    # --- actions ---

    def show_link(self, request: HttpRequest, invited: Member) -> HttpResponse:
        """The page with the link to set a password, shown once; the worker mails another one where
        mails are sent.
        """
        is_new = members.is_invited(invited.user)
        purpose = Purpose.INVITATION if is_new else Purpose.FORGOTTEN
        context = {
            "title": "Invitation" if is_new else "Link to a password",
            "warning": format_html(
                "Anyone with this link can sign in for {} as <strong>{}</strong>. It works once,"
                " for {}, and is shown only now.",
                invited.customer,
                invited,
                links.lasting(purpose),
            ),
            "heading": f"Invitation for {invited}" if is_new else f"Link for {invited}",
            "about": f"{invited.customer} · {invited.role}",
            "secret": mails.link_of(invited.user, purpose),
            "hint": f"It is being mailed to {invited} as well."
            if post.post_link(invited)
            else "It is not mailed: pass it on yourself, over a private channel.",
            "back": self.page_of(invited.pk),
            "back_text": "Portal user",
        }
        return self.page(request, "admin/secret.html", context)
