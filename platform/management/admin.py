"""Management keys: root keys are issued here, tokens of customers in their portal."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from access import secret_cookies
from access.admin.key_formatting import last_use
from access.key_fields import NetworksField
from access.services import parked_secrets
from management.models import ManagementKey
from management.scopes import SCOPES
from management.services import management_keys
from staff.actions import ActionsAdmin, AdminAction
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, moment, utc
from staff.own_pages import OwnPage, PagesAdmin


def _state(key: ManagementKey) -> SafeString:
    if key.revoked_at is not None:
        return badge("revoked", "quiet", utc(key.revoked_at))
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return badge("expired", "quiet", utc(key.expires_at))
    return badge("active", "good")


_GIVEN = ("name", "scopes", "networks", "expires_at")


class RootKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new root key."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple(attrs={"class": "tm-box"}),
        help_text="What programs may do with the key; a write scope includes reading",
    )
    networks = NetworksField(
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "203.0.113.0/24"})
    )

    class Meta:
        model = ManagementKey
        fields = _GIVEN
        help_texts = {
            "name": "Who uses it, such as a program; the audit log names it",
            "expires_at": "In UTC. Leave empty if it does not expire.",
        }

    def clean_expires_at(self) -> Any:
        expiry = self.cleaned_data["expires_at"]
        if expiry is not None and expiry <= timezone.now():
            raise forms.ValidationError("The expiry is past: choose a later moment")
        return expiry


def _issued(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The page with a new key's secret, once."""
    secrets = secret_cookies.taken(request)
    shown = secrets[0] if secrets else None
    key = None if shown is None else ManagementKey.objects.get(pk=shown.key_id)
    context = {
        "title": "New root key",
        "warning": "The secret is shown only now: anyone who has it may do what its scopes allow."
        if shown
        else "The secret was shown before, and is not stored: revoke the key and issue another.",
        "heading": key or "No secret to show",
        "about": ", ".join(key.scopes) if key else "",
        "secret": shown.secret if shown else "",
        "hint": "Send it as “Authorization: Bearer …” to /manage/v1/.",
        "back": reverse("admin:management_managementkey_changelist"),
        "back_text": "Management keys",
    }
    response: HttpResponse = model_admin.page(request, "admin/secret.html", context)
    return secret_cookies.forget(request, response)


@admin.register(ManagementKey)
class ManagementKeyAdmin(PagesAdmin, ActionsAdmin):
    admin_actions = (
        AdminAction(
            "revoke",
            "Revoke",
            "Requests with the key are answered 401 at once, for good.",
            "revoked",
            lambda request, row: management_keys.revoke(row.pk, now=timezone.now()),
            lambda request, row: "revoked already" if row.revoked_at else "",
            icon="block",
            danger=True,
        ),
    )
    own_pages = (
        OwnPage(
            "issued/", "management_managementkey_issued", _issued, "management.add_managementkey"
        ),
    )
    adds_one = True
    form = RootKeyForm
    list_display = ("key", "name", "whose", "state", "scope_list", "used_at", "expires")
    list_display_links = ("key", "name")
    list_filter = (
        choice_filter(
            "holder",
            "holder",
            {
                "root": ("root keys", Q(member__isnull=True)),
                "customers": ("customers", Q(member__isnull=False)),
            },
        ),
    )
    search_fields = ("name", "shown_prefix", "member__customer__name")
    search_help_text = "Name, prefix or customer"
    actions = None
    why_nothing = "A root key lets a program do by the API at /manage/v1/ what staff does here."
    shown = (
        "key",
        "name",
        "whose",
        "state",
        "scope_list",
        "network_list",
        "expires",
        "issued_by",
        "issued_at",
        "used",
    )

    # --- what is shown ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[ManagementKey]:
        queryset: QuerySet[ManagementKey] = super().get_queryset(request)
        return queryset.defer("digest").select_related("member__customer", "member__user")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return ((None, {"fields": _GIVEN if obj is None else self.shown}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.shown

    key = column(
        "key",
        lambda row: format_html("<code>{}…{}</code>", row.shown_prefix, row.last_four),
        "shown_prefix",
    )
    whose = column(
        "holder",
        lambda row: "root" if row.member is None else f"{row.member.customer} · {row.member}",
        "member__customer__name",
    )
    state = column("state", _state)
    scope_list = column("scopes", lambda row: ", ".join(row.scopes))
    network_list = column("networks", lambda row: ", ".join(row.networks) or "any address")
    expires = column("expires", lambda row: ago(row.expires_at), "expires_at")
    used_at = column("last used", lambda row: ago(row.last_used_at), "last_used_at")
    issued_by = column("issued by", lambda row: row.created_by)
    issued_at = column("issued", lambda row: moment(row.created_at))

    used = column("last used", last_use)

    # --- what may be changed ---

    def may_act(self, request: HttpRequest, row: ManagementKey) -> bool:
        return bool(self.has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # its rights stay as issued

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoked instead: the audit log names it

    def save_model(self, request: HttpRequest, obj: ManagementKey, form: Any, change: bool) -> None:
        if change:
            raise PermissionDenied
        who = request.user.get_username()
        new = management_keys.issue(**form.cleaned_data, created_by=who, now=timezone.now())
        obj.__dict__.update(new.key.__dict__)
        request.parked_secret = parked_secrets.park([new], owner=str(request.user.pk))  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: ManagementKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        page = reverse("admin:management_managementkey_issued")
        return secret_cookies.lead_to(page, request.parked_secret)  # type: ignore[attr-defined]
