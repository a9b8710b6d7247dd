"""Users of the admin: their roles, second factors and invitations."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from config.staff_pages.user_actions import ACTIONS
from portal.models import Member
from staff import audit, invitations, outgoing_mail, sessions
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, link
from staff.inviting import InvitingAdmin, sign_in_badge
from staff.roles import MEANINGS, Role, give_role, highest, keep_one_administrator, role_of

_NEXT = (
    "The next page shows a link once, with which this person chooses a password, and says whether"
    " it was mailed as well."
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
            "email": "For the link to a password, if this service sends mails",
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
            raise forms.ValidationError("This name is already in use")
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


_ADMINISTRATORS = User.groups.through.objects.filter(
    user=OuterRef("pk"), group__name=Role.ADMINISTRATOR
)
RoleFilter = choice_filter(
    "role",
    "role",
    {
        **{role.value: (role.value, Q(groups__name=role)) for role in Role},
        Role.ADMINISTRATOR.value: (
            Role.ADMINISTRATOR.value,
            Q(is_superuser=True) | Q(Exists(_ADMINISTRATORS)),
        ),
        "none": ("no role", Q(is_superuser=False) & ~Q(groups__name__in=list(Role))),
    },
)
SecondFactorFilter = choice_filter(
    "second factor",
    "second_factor",
    {"on": ("on", Q(_HAS_DEVICE)), "off": ("off", ~Q(_HAS_DEVICE))},
)


@admin.register(User)
class UserAdmin(InvitingAdmin):
    invite_title = "Invite a user"
    admin_actions = ACTIONS
    form = PersonForm
    list_display = ("username", "name", "email", "role", "second_factor", "signed_in", "state")
    list_filter = (KindFilter, RoleFilter, SecondFactorFilter, "is_active")
    list_per_page = 50
    ordering = ("username",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "User name, name or e-mail"
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

    name = column("name", lambda row: row.get_full_name() or "-", "first_name")

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

    signed_in = column("last sign-in", lambda row: ago(row.last_login), "last_login")

    state = column(
        "state",
        lambda row: sign_in_badge(is_active=row.is_active, is_invited=invitations.is_invited(row)),
        "is_active",
    )
    joined = column("added", lambda row: ago(row.date_joined))

    @admin.display(description="belongs to")
    def belongs_to(self, user: User) -> SafeString | str:
        member = Member.objects.filter(user=user).select_related("customer").first()
        if member is None:
            return "no customer"
        customer = link(member.customer, "access_customer_change", member.customer_id)
        return format_html("{}, on the portal", customer)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return "password" not in lookup and super().lookup_allowed(lookup, value, request)

    # --- actions ---

    def action_rows(self, request: HttpRequest) -> QuerySet[User]:
        return self.get_queryset(request).filter(is_staff=True)

    def show_link(self, request: HttpRequest, invited: User) -> HttpResponse:
        """The page with a new link to a password, shown this once and mailed where it can be.
        Outside of a transaction: a mail server may take its time.
        """
        user = invited
        is_new = invitations.is_invited(user)
        with transaction.atomic():
            if is_new:
                user.set_unusable_password()  # another one, so that links of before are void
                user.save(update_fields=["password"])
            address = invitations.link_for(user)
            audit.record(request, "made a password link", user)
        mailed = ""
        if user.email and outgoing_mail.is_sent():
            try:
                invitations.mail(user, address, by=request.user.get_username(), is_new=is_new)
                mailed = user.email
            except OSError as error:  # smtplib's errors are
                why = " ".join(outgoing_mail.described(error))
                messages.error(request, f"It could not be mailed to {user.email}: {why}")
        context = {
            "title": "Invitation" if is_new else "Link to a password",
            "warning": format_html(
                "Anyone with this link can choose the password of <strong>{}</strong>. It works"
                " once, for {} days, and this page shows it once.",
                user,
                invitations.days(),
            ),
            "heading": f"Link for {user.get_full_name() or user}",
            "secret": address,
            "hint": f"Mailed to {mailed} as well."
            if mailed
            else "Not mailed: give it to the person yourself, over a private channel.",
            "back": self.page_of(user.pk),
            "back_text": "The person's page",
        }
        return self.page(request, "admin/secret.html", context)

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
