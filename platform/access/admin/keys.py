"""API keys: the list, issuing one, changing one, and the way to the orders."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import action

from access import key_text, store
from access.admin import issued, key_orders, key_words, usage_panel
from access.admin.key_filters import (
    CustomerFilter,
    EnvironmentFilter,
    QuotaFilter,
    StateFilter,
    UseFilter,
)
from access.admin.key_forms import EditKeyForm, IssueKeyForm
from access.admin.key_words import key_badge, scopes_of
from access.errors import OrderRefused
from access.models import ApiKey
from access.services import parked_secrets
from access.services.key_edits import edit_key
from access.services.keys import issue_key
from staff.formatting import ago, utc
from staff.pages import StaffAdmin

_GIVEN = (
    *("name", "tier", "environment", "scopes", "networks", "expires_at"),
    *("methods", "calls_per_month", "notes"),
)
_WINDOWS = ("can_add_related", "can_change_related", "can_delete_related", "can_view_related")


def _order_link(order: str, icon: str, permission: str) -> Any:
    """A link of the theme to the page that asks whether the order is meant."""

    def lead(_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        return HttpResponseRedirect(key_orders.link_to(order, [int(object_id)]))

    lead.__name__ = order  # by which the theme knows it
    title = key_orders.ORDERS[order].title
    return action(description=title, icon=icon, permissions=[permission])(lead)


@admin.register(ApiKey)
class ApiKeyAdmin(StaffAdmin):
    list_display = ("key", "name", "customer", "tier", "state", "may_do", "used_at")
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
    list_per_page = 50
    # Looked for in get_search_results; naming them here is what makes the field appear.
    search_fields = ("name", "customer__name")
    search_help_text = "Name, customer, prefix, or a whole secret"
    autocomplete_fields = ("customer",)
    actions = ("suspend_keys", "resume_keys", "revoke_keys", "rotate_keys")
    actions_detail = ("rotate", "suspend", "resume", "revoke")
    actions_row = ("rotate", "suspend", "resume", "revoke")
    change_form_outer_after_template = "admin/access/apikey/usage.html"
    readonly_fields = ("key", "state", "issued_at", "used", "rotation", "month", "limits")
    add_fieldsets = (
        (None, {"fields": ("customer", "name", "tier", "environment")}),
        ("Rights", {"fields": ("scopes", "networks", "expires_at")}),
        (
            "Methods and monthly calls",
            {"fields": ("methods", "calls_per_month"), "classes": ("collapse",)},
        ),
        (None, {"fields": ("notes",)}),
    )
    fieldsets = (
        (
            None,
            {"fields": ("key", "state", "customer", "used", "month", "issued_at", "rotation")},
        ),
        (None, {"fields": ("name", "tier", "limits", "environment")}),
        ("Rights", {"fields": ("scopes", "networks", "expires_at")}),
        ("Methods and monthly calls", {"fields": ("methods", "calls_per_month")}),
        (None, {"fields": ("notes",)}),
    )

    class Media:
        js: ClassVar = ["tidemark/keys.js"]

    # --- what is shown ---

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        queryset: QuerySet[ApiKey] = super().get_queryset(request)
        return queryset.defer("digest").select_related("customer", "tier")

    @admin.display(description="key", ordering="shown_prefix")
    def key(self, key: ApiKey) -> SafeString:
        return format_html("<code>{}…{}</code>", key.shown_prefix, key.last_four)

    @admin.display(description="state")
    def state(self, key: ApiKey) -> SafeString:
        return key_badge(key, timezone.now())

    @admin.display(description="scopes")
    def may_do(self, key: ApiKey) -> str:
        return scopes_of(key)

    @admin.display(description="last used", ordering="last_used_at")
    def used_at(self, key: ApiKey) -> SafeString | str:
        return ago(key.last_used_at)

    @admin.display(description="last used")
    def used(self, key: ApiKey) -> SafeString | str:
        when = ago(key.last_used_at)
        if key.last_used_address is None:
            return when
        return format_html("{} from {}", when, key.last_used_address)

    @admin.display(description="issued")
    def issued_at(self, key: ApiKey) -> str:
        return utc(key.created_at)

    @admin.display(description="rotation")
    def rotation(self, key: ApiKey) -> SafeString | str:
        parts = []
        if key.rotated_from_id is not None:
            parts.append(("successor of", key.rotated_from))
        after = getattr(key, "rotated_to", None)
        if after is not None:
            parts.append(("replaced by", after))
        links = [
            format_html(
                '{} <a class="text-link" href="{}">{}</a>',
                word,
                reverse("admin:access_apikey_change", args=[other.pk]),
                other,
            )
            for word, other in parts
            if other is not None
        ]
        if not links:
            return "never"
        return links[0] if len(links) == 1 else format_html("{}; {}", *links)

    @admin.display(description="this month")
    def month(self, key: ApiKey) -> SafeString | str:
        # The theme asks six times for what a page shows once.
        shown: SafeString | str | None = getattr(key, "month_shown", None)
        if shown is None:
            shown = key_words.month(key, timezone.now())
            key.month_shown = shown  # type: ignore[attr-defined]
        return shown

    @admin.display(description="limits of the tier")
    def limits(self, key: ApiKey) -> SafeString:
        return key_words.limits(key.tier)

    # --- what may be changed ---

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if isinstance(obj, ApiKey) and obj.revoked_at is not None:
            return False
        return bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # revoked instead: its usage, and who held it, stay known

    def get_form(
        self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any
    ) -> "type[forms.ModelForm[ApiKey]]":
        form: type[forms.ModelForm[ApiKey]] = EditKeyForm if change else IssueKeyForm
        if not self.has_add_permission(request):
            form = forms.ModelForm  # fields that a form declares itself would be taken
        return super().get_form(request, obj, change=change, **{"form": form, **kwargs})  # type: ignore[no-any-return]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        if obj is None:
            return []
        # Who may only suspend, or revoke, gives nobody another tier, scope or month.
        given = [] if self.has_add_permission(request) else _GIVEN
        return [*self.readonly_fields, "customer", *given]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name == "notes":
            field.widget.attrs["rows"] = 3
        if field is not None and db_field.name == "calls_per_month":
            field.widget.attrs["placeholder"] = "as the tier says"
        # What stands in other lists is neither shown nor changed in a window of its own from here.
        for name in _WINDOWS:
            if field is not None and hasattr(field.widget, name):
                setattr(field.widget, name, False)
        return field

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
        return issued.hand_over(request.parked_secret)  # type: ignore[attr-defined]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        extra = {"show_save_and_add_another": False, **(extra_context or {})}
        if object_id is None:
            extra["show_save_and_continue"] = False
        elif not self.has_add_permission(request):
            extra |= {"show_save": False, "show_save_and_continue": False}
        elif request.method == "GET" and (key := self._key(request, object_id)) is not None:
            extra["key_links"] = key_words.links(request, key)
            extra["story"] = key_words.story(request, key, timezone.now())
            if request.user.has_perm("access.view_usageminute"):
                extra["usage"] = usage_panel.panel(request, key_id=key.pk)
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        except OrderRefused as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.path)
        return response

    def _key(self, request: HttpRequest, object_id: str) -> ApiKey | None:
        """The key, where the user may look at it."""
        if not self.has_view_permission(request):
            return None
        found: ApiKey | None = self.get_object(request, object_id)
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
        return super().get_search_results(request, queryset, search_term)  # type: ignore[no-any-return]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        asked = request.GET.get("q", "").strip()
        if key_text.is_well_formed(asked):
            # The page's script posts secrets; where it did not run, at least leave the address.
            messages.warning(
                request,
                "That was a whole secret in the page's address: it may stand in this browser's"
                " history. Rotate the key where others use the browser.",
            )
            return self._found(request, asked)
        response: HttpResponse = super().changelist_view(
            request, {"title": "API keys", **(extra_context or {})}
        )
        return response

    def _find(self, request: HttpRequest) -> HttpResponse:
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

    # --- orders ---

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path(
                "orders/<slug:order>/",
                wrap(lambda request, order: key_orders.page(self, request, order)),
                name="access_apikey_order",
            ),
            path(
                "issued/",
                wrap(lambda request: issued.page(self, request)),
                name="access_apikey_issued",
            ),
            path("find/", wrap(self._find), name="access_apikey_find"),
        ]
        return [*own, *super().get_urls()]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """The orders that this key can take now."""
        allowed = super().get_actions_detail(request, object_id)
        key = self.get_object(request, str(object_id))
        if key is None:
            return []
        fit = key_orders.fit_orders(key, timezone.now())
        return [each for each in allowed if each.method.original_function_name in fit]

    def has_rotate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return key_orders.may(self, request, "rotate")

    rotate = _order_link("rotate", "autorenew", "rotate")
    suspend = _order_link("suspend", "pause", "change")
    resume = _order_link("resume", "play_arrow", "change")
    revoke = _order_link("revoke", "block", "change")

    @admin.action(description="Suspend", permissions=["change"])
    def suspend_keys(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse | None:
        return self._at_once(request, "suspend", chosen)

    @admin.action(description="Resume", permissions=["change"])
    def resume_keys(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse | None:
        return self._at_once(request, "resume", chosen)

    @admin.action(description="Revoke…", permissions=["change"])
    def revoke_keys(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse | None:
        return self._ask(request, "revoke", chosen)

    @admin.action(description="Rotate…", permissions=["rotate"])
    def rotate_keys(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> HttpResponse | None:
        return self._ask(request, "rotate", chosen)

    def _at_once(
        self, request: HttpRequest, order: str, chosen: QuerySet[ApiKey]
    ) -> HttpResponse | None:
        if self._are_too_many(request, chosen):
            return None
        key_orders.carry_out(self, request, key_orders.ORDERS[order], list(chosen))
        return None

    def _ask(
        self, request: HttpRequest, order: str, chosen: QuerySet[ApiKey]
    ) -> HttpResponse | None:
        if self._are_too_many(request, chosen):
            return None
        ids = list(chosen.values_list("pk", flat=True))
        return HttpResponseRedirect(key_orders.link_to(order, ids))

    def _are_too_many(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> bool:
        if chosen.count() <= key_orders.MOST_KEYS:
            return False
        messages.error(request, f"At most {key_orders.MOST_KEYS} keys at a time: choose fewer")
        return True
