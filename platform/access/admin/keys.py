"""API keys: the list, issuing, changing, and their actions."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from access import key_text, store
from access.admin import issued, key_actions, key_formatting, key_panel, usage_panel
from access.admin.key_filters import (
    CustomerFilter,
    EnvironmentFilter,
    QuotaFilter,
    StateFilter,
    UseFilter,
)
from access.admin.key_formatting import key_badge, last_use, scopes_of
from access.admin.key_forms import EditKeyForm, IssueKeyForm
from access.models import ApiKey
from access.services import parked_secrets
from access.services.key_activity import DAYS, activity
from access.services.key_edits import edit_key
from access.services.keys import issue_key
from access.usage_queries import Asked
from staff.actions import ActionsAdmin
from staff.columns import column
from staff.formatting import ago, link, timed, utc
from staff.own_pages import OwnPage, PagesAdmin
from staff.sparklines import sparkline

_GIVEN = (
    "name",
    "tier",
    "environment",
    "scopes",
    "networks",
    "origins",
    "expires_at",
    "methods",
    "requests_per_second",
    "calls_per_month",
    "notes",
)


def _list_action(name: str, title: str, permission: str = "change", *, asks: bool = False) -> Any:
    """An action of the list, done at once or after confirmation."""

    @admin.action(description=title, permissions=[permission])
    def act(
        model_admin: Any, request: HttpRequest, chosen: QuerySet[ApiKey]
    ) -> HttpResponse | None:
        if chosen.count() > key_actions.MOST_KEYS:
            messages.error(request, f"At most {key_actions.MOST_KEYS} keys at a time: choose fewer")
        elif asks:
            ids = list(chosen.values_list("pk", flat=True))
            return HttpResponseRedirect(key_actions.link_to(name, ids))
        else:
            key_actions.carry_out(model_admin, request, key_actions.ACTIONS[name], list(chosen))
        return None

    act.__name__ = f"{name}_keys"
    return act


@admin.register(ApiKey)
class ApiKeyAdmin(PagesAdmin, ActionsAdmin):
    own_pages = (
        OwnPage("issued/", "access_apikey_issued", issued.page),
        OwnPage("find/", "access_apikey_find", lambda own, request: own.find(request)),
    )
    admin_actions = tuple(key_actions.ACTIONS.values())
    action_path = "orders/<slug:name>/"
    adds_one = True
    plain_choices = ("customer", "tier")
    placeholders: ClassVar = {
        "calls_per_month": "as the tier says",
        "requests_per_second": "as the tier says",
    }
    list_display = (
        "key",
        "name",
        "customer",
        "tier",
        "state",
        "calls",
        "used_at",
        "expires",
        "may_do",
    )
    list_display_links = ("key", "name")
    list_select_related = ("customer", "tier")
    list_filter = (
        StateFilter,
        UseFilter,
        QuotaFilter,
        "tier",
        EnvironmentFilter,
        CustomerFilter,
    )
    list_fullwidth = True
    # Looked for in get_search_results; naming them here is what makes the field appear.
    search_fields = ("name", "customer__name")
    search_help_text = "Name, customer, prefix, or a whole secret"
    autocomplete_fields = ("customer",)
    actions = ("compare_keys", "suspend_keys", "resume_keys", "revoke_keys", "rotate_keys")
    actions_row = ("rotate", "suspend", "resume", "revoke")
    change_form_outer_before_template = "admin/access/apikey/usage.html"
    change_form_outer_after_template = "admin/access/apikey/history.html"
    readonly_fields = ("key", "state", "issued_at", "used", "rotation", "month", "limits")
    add_fieldsets = (
        (None, {"fields": ("customer", "name", "tier", "environment")}),
        ("Rights", {"fields": ("scopes", "networks", "origins", "expires_at")}),
        (
            "Methods, rate and monthly calls",
            {
                "fields": ("methods", "requests_per_second", "calls_per_month"),
                "classes": ("collapse",),
            },
        ),
        (None, {"fields": ("notes",)}),
    )
    fieldsets = (
        (
            None,
            {"fields": ("key", "state", "customer", "used", "month", "issued_at", "rotation")},
        ),
        (None, {"fields": ("name", "tier", "limits", "environment")}),
        ("Rights", {"fields": ("scopes", "networks", "origins", "expires_at")}),
        (
            "Methods, rate and monthly calls",
            {"fields": ("methods", "requests_per_second", "calls_per_month")},
        ),
        (None, {"fields": ("notes",)}),
    )

    class Media:
        js: ClassVar = ["tidemark/keys.js"]

    # --- what is shown ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        queryset: QuerySet[ApiKey] = super().get_queryset(request)
        found = queryset.defer("digest").select_related("customer", "tier")
        return store.with_creator(found, of_customer=False)

    def complete_rows(self, rows: Any) -> None:
        found = activity([row.pk for row in rows], timezone.now())
        for row in rows:
            row.shown_calls = sparkline(found[row.pk].parts, what=f"counted calls in {DAYS} days")

    key = column(
        "key",
        lambda row: format_html("<code>{}…{}</code>", row.shown_prefix, row.last_four),
        "shown_prefix",
    )
    state = column("state", lambda row: key_badge(row, timezone.now()))
    may_do = column("scopes", scopes_of)
    calls = column(f"counted, {DAYS} days", lambda row: getattr(row, "shown_calls", "-"))
    expires = column("expires", lambda row: ago(row.expires_at), "expires_at")
    used_at = column("last used", lambda row: ago(row.last_used_at), "last_used_at")

    used = column("last used", last_use)

    issued_at = column(
        "issued",
        lambda row: timed(
            f"{utc(row.created_at)}{f' by {row.created_by}' if row.created_by else ''}"
        ),
    )

    @admin.display(description="rotation")
    def rotation(self, key: ApiKey) -> SafeString | str:
        others = (
            ("successor of", key.rotated_from),
            ("replaced by", getattr(key, "rotated_to", None)),
        )
        links = [
            (text, link(other, "access_apikey_change", other.pk))
            for text, other in others
            if other is not None
        ]
        return format_html_join("; ", "{} {}", links) or "never"

    @admin.display(description="this month")
    def month(self, key: ApiKey) -> SafeString | str:
        # The theme calls this six times for one page.
        shown: SafeString | str | None = getattr(key, "month_shown", None)
        if shown is None:
            shown = key_formatting.month(key, timezone.now())
            key.month_shown = shown  # type: ignore[attr-defined]
        return shown

    limits = column("limits of the tier", lambda row: key_formatting.limits(row.tier))

    # --- what may be changed ---

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if isinstance(obj, ApiKey) and obj.revoked_at is not None:
            return False
        return bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoked instead: its usage stays

    def get_form(
        self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any
    ) -> "type[forms.ModelForm[ApiKey]]":
        form: type[forms.ModelForm[ApiKey]] = EditKeyForm if change else IssueKeyForm
        if not self.has_add_permission(request):
            form = forms.ModelForm  # without the fields that our forms declare
        return super().get_form(request, obj, change=change, **{"form": form, **kwargs})  # type: ignore[no-any-return]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        if obj is None:
            return []
        # Who may only suspend or revoke cannot change tier, scopes or limits.
        given = [] if self.has_add_permission(request) else _GIVEN
        return [*self.readonly_fields, "customer", *given]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            changes = {name: form.cleaned_data[name] for name in form.changed_data}
            edit_key(obj.pk, now=timezone.now(), **changes)
            return
        given = form.cleaned_data
        new = issue_key(
            given["customer"],
            **{name: given[name] for name in given if name != "customer"},
        )
        obj.__dict__.update(new.key.__dict__)
        request.parked_secret = parked_secrets.park([new], owner=str(request.user.pk))  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        return issued.lead_to(request.parked_secret)  # type: ignore[attr-defined]

    def form_context(self, request: HttpRequest, object_id: str | None) -> dict[str, Any]:
        extra = super().form_context(request, object_id)
        if object_id is not None and not self.has_add_permission(request):
            extra |= {"show_save": False, "show_save_and_continue": False}
        return extra

    def beside_fields(self, request: HttpRequest, row: ApiKey) -> dict[str, Any]:
        if request.method != "GET" or not self.has_add_permission(request):
            return {}
        now = timezone.now()
        found: dict[str, Any] = {
            "key_links": key_formatting.links(request, row),
            "entries": key_formatting.history(request, row),
            "overlap": key_panel.overlap(row, now),
        }
        if request.user.has_perm("access.view_usageminute"):
            asked = Asked(key_id=row.pk, **usage_panel.narrowing(request))
            found |= key_panel.panel(row, now)
            found["usage"] = usage_panel.panel(request, asked)
        return found

    # --- finding ---

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ApiKey], search_term: str
    ) -> tuple[QuerySet[ApiKey], bool]:
        prefix, _, last_four = search_term.strip().partition("…")
        if prefix.startswith(key_text.PREFIX) and " " not in prefix:
            shown = len(key_text.PREFIX) + 4
            found = queryset.filter(shown_prefix__startswith=prefix[:shown])
            return (found.filter(last_four=last_four) if last_four else found), False
        return super().get_search_results(request, queryset, search_term)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        asked = request.GET.get("q", "").strip()
        if key_text.is_well_formed(asked):
            # The page's script posts secrets; where it did not run, at least leave the address.
            messages.warning(
                request,
                "That was a whole secret in the page's address: it may be in this browser's"
                " history. Rotate the key if others use the browser.",
            )
            return self._found(request, asked)
        return super().changelist_view(request, extra_context)  # type: ignore[no-any-return]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {"title": "API keys"}

    def find(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return self._found(request, request.POST.get("secret", "").strip())

    def _found(self, request: HttpRequest, secret: str) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if not key_text.is_well_formed(secret):
            messages.error(
                request, "Not a key of this service: its form or its checksum is wrong (a typo?)"
            )
        else:
            key = store.key_by_digest(key_text.digest_of(secret))
            if key is not None:
                return HttpResponseRedirect(reverse("admin:access_apikey_change", args=[key.pk]))
            messages.error(request, "Well formed, but no key with this secret was issued here")
        return HttpResponseRedirect(reverse("admin:access_apikey_changelist"))

    # --- actions ---

    def action_address(self, name: str, pk: int) -> str:
        return key_actions.link_to(name, [pk])

    def action_view(self, request: HttpRequest, name: str) -> HttpResponse:  # type: ignore[override]
        """Of one or many keys, which the query names."""
        return key_actions.page(self, request, name)

    def has_rotate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return key_actions.may(self, request, "rotate")

    @admin.action(description="Compare", permissions=["view"])
    def compare_keys(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse:
        """Leads to the page that shows the keys beside each other."""
        ids = ",".join(map(str, chosen.values_list("pk", flat=True)[: key_actions.MOST_COMPARED]))
        return HttpResponseRedirect(f"{reverse('admin:priority_compare')}?keys={ids}")

    suspend_keys = _list_action("suspend", "Suspend")
    resume_keys = _list_action("resume", "Resume")
    revoke_keys = _list_action("revoke", "Revoke…", asks=True)
    rotate_keys = _list_action("rotate", "Rotate…", "rotate", asks=True)
