"""The people who sign in: their roles, their second factors, and their way in."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from config import admin_user_orders as orders
from portal.models import Member
from staff import sessions
from staff.errors import OrderRefused
from staff.formatting import ago, badge
from staff.inviting import InvitingAdmin
from staff.roles import MEANINGS, Role, give_role, highest, keep_one_administrator, role_of

_NEXT = (
    "Nobody types a password for somebody else: the next page shows a link, once, by which this"
    " person chooses one. It is mailed as well when there is an address."
)
_HAS_DEVICE = Exists(TOTPDevice.objects.filter(user=OuterRef("pk"), confirmed=True))
_HUES = {Role.ADMINISTRATOR: "warning", Role.OPERATOR: "good", Role.VIEWER: "quiet"}


class PersonForm(forms.ModelForm):  # type: ignore[type-arg]
    """Who it is, and one role instead of a wall of permissions."""

    role = forms.ChoiceField(
        choices=[(role.value, f"{role.value}: {MEANINGS[role]}") for role in Role],
        widget=forms.RadioSelect(attrs={"class": "tm-box"}),
        error_messages={"required": "Choose what this person may do"},
    )

    class Meta:
        model = User
        fields = ("username", "first_name", "last_name", "email", "is_active")
        widgets: ClassVar = {
            "username": UnfoldAdminTextInputWidget,
            "first_name": UnfoldAdminTextInputWidget,
            "last_name": UnfoldAdminTextInputWidget,
            "email": UnfoldAdminEmailInputWidget,
            "is_active": UnfoldBooleanSwitchWidget,
        }
        labels: ClassVar = {"username": "User name", "is_active": "May sign in"}
        help_texts: ClassVar = {
            "username": "For signing in; letters, digits and @ . + - _",
            "email": "For the link to a password",
            "is_active": "Off signs the person out everywhere, at once",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and "role" in self.fields:
            role = role_of(self.instance)
            self.initial["role"] = None if role is None else role.value

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        same = User.objects.filter(username__iexact=name).exclude(pk=self.instance.pk)
        if same.exists():
            raise forms.ValidationError("Somebody has this name already")
        return name


class KindFilter(admin.SimpleListFilter):
    """The staff, unless asked for others."""

    title = "whose"
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("customers", "customers' portal users"), ("all", "everybody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        chosen = self.value()
        if chosen == "all":
            return queryset
        return queryset.filter(is_staff=chosen != "customers")

    def choices(self, changelist: Any) -> Any:
        found = list(super().choices(changelist))
        found[0]["display"] = "staff"
        return found


class RoleFilter(admin.SimpleListFilter):
    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*((role.value, role.value) for role in Role), ("none", "no role")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        chosen = self.value()
        if chosen == "none":
            return queryset.filter(is_superuser=False).exclude(groups__name__in=list(Role))
        if chosen == Role.ADMINISTRATOR:
            held = User.groups.through.objects.filter(user=OuterRef("pk"), group__name=chosen)
            return queryset.filter(Q(is_superuser=True) | Exists(held))
        return queryset if chosen is None else queryset.filter(groups__name=chosen)


class SecondFactorFilter(admin.SimpleListFilter):
    title = "second factor"
    parameter_name = "second_factor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("on", "on"), ("off", "off")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        chosen = self.value()
        if chosen is None:
            return queryset
        return queryset.filter(_HAS_DEVICE if chosen == "on" else ~_HAS_DEVICE)


def _order_link(order: str, icon: str) -> Any:
    """A link of the theme to the page that asks whether the order is meant."""

    def lead(_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        link = reverse("admin:auth_user_order", args=[int(object_id), order])
        return HttpResponseRedirect(link)

    lead.__name__ = order  # by which the theme knows it
    return action(description=orders.ORDERS[order].title, icon=icon, permissions=["order"])(lead)


@admin.register(User)
class UserAdmin(InvitingAdmin):
    invite_title = "Invite somebody"
    refusals = (OrderRefused,)
    form = PersonForm
    list_display = ("username", "name", "email", "role", "second_factor", "signed_in", "state")
    list_filter = (KindFilter, RoleFilter, SecondFactorFilter, "is_active")
    list_per_page = 50
    ordering = ("username",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "User name, name or e-mail"
    show_full_result_count = False
    actions = None
    actions_detail = ("new_link", "reset_second_factor", "sign_out")
    shown: ClassVar = ("second_factor", "signed_in", "joined")

    # --- what is shown ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        queryset: QuerySet[User] = super().get_queryset(request)
        return queryset.annotate(has_device=_HAS_DEVICE).prefetch_related("groups")

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        who = ("username", "first_name", "last_name", "email")
        if obj is None:
            return (
                (None, {"fields": who, "description": _NEXT}),
                ("Role", {"fields": ("role",)}),
            )
        role = ("role", "is_active") if obj.is_staff else ("belongs_to", "is_active")
        return (
            (None, {"fields": who}),
            ("Rights", {"fields": role}),
            ("Signing in", {"fields": self.shown}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        if obj is None:
            return ()
        if not obj.is_staff:
            return (*self.shown, "belongs_to")
        if obj.pk == request.user.pk or not self.has_change_permission(request, obj):
            return (*self.shown, "role", "is_active")
        return self.shown

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if "role" in self.get_readonly_fields(request, obj):
            kwargs["form"] = type("FormWithoutRole", (PersonForm,), {"role": None})
        return super().get_form(request, obj, change=change, **kwargs)

    @admin.display(description="name", ordering="first_name")
    def name(self, user: User) -> str:
        return user.get_full_name() or "-"

    @admin.display(description="role")
    def role(self, user: User) -> SafeString | str:
        if not user.is_staff:
            return badge("customer's", "quiet", "a portal user: never in the admin")
        role = (
            Role.ADMINISTRATOR
            if user.is_superuser
            else highest(group.name for group in user.groups.all())
        )
        if role is None:
            return badge("no role", "bad", "may sign in, and see nothing")
        return badge(role.value, _HUES[role], MEANINGS[role])

    @admin.display(description="second factor", ordering="has_device")
    def second_factor(self, user: User) -> SafeString:
        if user.has_device:  # type: ignore[attr-defined]
            return badge("on", "good", "signing in takes a code of an app")
        return badge("off", "quiet", "the password alone signs in")

    @admin.display(description="last sign-in", ordering="last_login")
    def signed_in(self, user: User) -> SafeString | str:
        return ago(user.last_login)

    @admin.display(description="state", ordering="is_active")
    def state(self, user: User) -> SafeString:
        if not user.is_active:
            return badge("deactivated", "bad")
        if not user.has_usable_password():
            return badge("invited", "warning", "has not chosen a password yet")
        return badge("active", "good")

    @admin.display(description="added")
    def joined(self, user: User) -> SafeString | str:
        return ago(user.date_joined)

    @admin.display(description="belongs to")
    def belongs_to(self, user: User) -> SafeString | str:
        member = Member.objects.filter(user=user).select_related("customer").first()
        if member is None:
            return "nobody"
        link = reverse("admin:access_customer_change", args=[member.customer_id])
        return format_html(
            '<a class="text-link" href="{}">{}</a>, on the portal', link, member.customer
        )

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return "password" not in lookup and super().lookup_allowed(lookup, value, request)

    # --- orders ---

    def get_urls(self) -> list[URLPattern]:
        ask = self.admin_site.admin_view(
            lambda request, **named: orders.page(self, request, **named)
        )
        own = path("<int:user_id>/order/<slug:order_name>/", ask, name="auth_user_order")
        return [own, *super().get_urls()]

    def has_order_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        person = User.objects.filter(pk=object_id, is_staff=True).first()
        return person is not None and self.has_change_permission(request, person)

    new_link = _order_link("new_link", "link")
    reset_second_factor = _order_link("reset_second_factor", "phonelink_erase")
    sign_out = _order_link("sign_out", "logout")

    # --- what may be changed ---

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        portal_user = isinstance(obj, User) and not obj.is_staff
        return bool(super().has_change_permission(request, obj)) and not portal_user

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        own = isinstance(obj, User) and (obj.pk == request.user.pk or not obj.is_staff)
        return bool(super().has_delete_permission(request, obj)) and not own

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if not change:
            obj.is_staff = True
            obj.set_unusable_password()
        role = form.cleaned_data.get("role")
        if change and "is_active" in form.changed_data and not obj.is_active:
            keep_one_administrator(without=obj)
            sessions.sign_out_everywhere(obj, timezone.now())
        obj.save()
        if role:
            give_role(obj, Role(role), by=request.user)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        keep_one_administrator(without=obj)
        obj.delete()

    def show_link(self, request: HttpRequest, invited: User) -> HttpResponse:
        return orders.show_link(self, request, invited)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            response: HttpResponse = super().delete_view(request, object_id, extra_context)
        except OrderRefused as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(reverse("admin:auth_user_change", args=[object_id]))
        return response
