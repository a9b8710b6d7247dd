"""Portal users: who of a customer's people signs in, and inviting them."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.decorators import action
from unfold.widgets import UnfoldAdminEmailInputWidget

from access.errors import OrderRefused
from access.models import Customer
from portal.admin import orders
from portal.forms.team import ROLES
from portal.models import Member
from portal.services import members
from staff.formatting import ago, badge
from staff.inviting import InvitingAdmin

_HAS_DEVICE = Exists(TOTPDevice.objects.filter(user=OuterRef("user"), confirmed=True))


class InviteForm(forms.ModelForm):  # type: ignore[type-arg]
    """Who is invited, and for whom."""

    email = forms.EmailField(
        label="E-mail address",
        max_length=150,
        widget=UnfoldAdminEmailInputWidget(),
        help_text="Signs in with it; gets the mail with the link to choose a password",
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
    """What a portal user may do."""

    role = forms.ChoiceField(choices=ROLES, widget=forms.RadioSelect(attrs={"class": "tm-box"}))

    class Meta:
        model = Member
        fields = ("role",)


class CustomerFilter(admin.SimpleListFilter):
    """One customer's people: the customer's page leads here."""

    title = "customer"
    parameter_name = "customer"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = request.GET.get("customer", "")
        if not chosen:
            return []  # not one choice each: there may be thousands
        pk = _number(chosen)
        customer = None if pk is None else Customer.objects.filter(pk=pk).first()
        return [(chosen, "no such customer" if customer is None else str(customer))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Member]) -> QuerySet[Member]:
        chosen = self.value()
        if chosen is None:
            return queryset
        pk = _number(chosen)
        return queryset.none() if pk is None else queryset.filter(customer=pk)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _order_link(order: str, icon: str) -> Any:
    """A link of the theme to the page that asks whether the order is meant."""

    def lead(_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        link = reverse("admin:portal_member_order", args=[int(object_id), order])
        return HttpResponseRedirect(link)

    lead.__name__ = order  # by which the theme knows it
    return action(description=orders.ORDERS[order].title, icon=icon, permissions=["change"])(lead)


@admin.register(Member)
class MemberAdmin(InvitingAdmin):
    invite_title = "Invite a portal user"
    refusals = (OrderRefused,)
    list_display = ("email", "customer", "role", "state", "second_factor", "signed_in")
    list_display_links = ("email",)
    list_select_related = ("user", "customer")
    list_filter = (CustomerFilter, "role")
    list_per_page = 50
    ordering = ("user__username",)
    search_fields = ("user__username", "customer__name")
    search_help_text = "E-mail address or customer"
    show_full_result_count = False
    autocomplete_fields = ("customer",)
    actions = None
    actions_detail = ("invite_again", "deactivate", "activate", "reset_second_factor", "sign_out")
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

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "customer" and field is not None:
            for name in ("add", "change", "delete", "view"):
                setattr(field.widget, f"can_{name}_related", False)
        return field

    @admin.display(description="e-mail address", ordering="user__username")
    def email(self, member: Member) -> str:
        return str(member)

    @admin.display(description="customer")
    def belongs_to(self, member: Member) -> SafeString:
        link = reverse("admin:access_customer_change", args=[member.customer_id])
        return format_html('<a class="text-link" href="{}">{}</a>', link, member.customer)

    @admin.display(description="state", ordering="user__is_active")
    def state(self, member: Member) -> SafeString:
        if not member.user.is_active:
            return badge("deactivated", "bad", "cannot sign in")
        if members.is_invited(member.user):
            return badge("invited", "warning", "has not chosen a password yet")
        return badge("active", "good")

    @admin.display(description="second factor")
    def second_factor(self, member: Member) -> SafeString:
        if member.has_device:  # type: ignore[attr-defined]
            return badge("on", "good", "signing in takes a code of an app")
        return badge("off", "quiet", "the password alone signs in")

    @admin.display(description="last sign-in", ordering="user__last_login")
    def signed_in(self, member: Member) -> SafeString | str:
        return ago(member.user.last_login)

    @admin.display(description="invited")
    def invited_at(self, member: Member) -> SafeString | str:
        return ago(member.created_at)

    # --- what may be changed ---

    def save_model(self, request: HttpRequest, obj: Member, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=["role"])
            return
        given = form.cleaned_data
        new = members.invite(given["customer"], email=given["email"], role=given["role"])
        obj.__dict__.update(new.__dict__)

    def delete_model(self, request: HttpRequest, obj: Member) -> None:
        members.forget(obj)

    def show_link(self, request: HttpRequest, invited: Member) -> HttpResponse:
        return orders.show_link(self, request, invited)

    # --- orders ---

    def get_urls(self) -> list[URLPattern]:
        ask = self.admin_site.admin_view(
            lambda request, **named: orders.page(self, request, **named)
        )
        own = path("<int:pk>/order/<slug:order_name>/", ask, name="portal_member_order")
        return [own, *super().get_urls()]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """The orders that this person's state allows."""
        allowed = super().get_actions_detail(request, object_id)
        member = self.get_object(request, str(object_id))
        if member is None:
            return []
        fit = [name for name, order in orders.ORDERS.items() if order.unfit(member) is None]
        return [each for each in allowed if each.method.original_function_name in fit]

    invite_again = _order_link("invite_again", "mail")
    deactivate = _order_link("deactivate", "person_off")
    activate = _order_link("activate", "person_check")
    reset_second_factor = _order_link("reset_second_factor", "phonelink_erase")
    sign_out = _order_link("sign_out", "logout")
