"""Customers, with their keys."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from unfold.admin import TabularInline

from access import usage_queries
from access.admin import usage_panel
from access.admin.key_formatting import key_badge
from access.models import ApiKey, Customer
from access.months import month_of
from access.services import customer_edits
from access.usage_queries import Asked
from staff.actions import theme_link
from staff.columns import column
from staff.formatting import ago, grouped, link
from staff.pages import StaffAdmin


class KeysOfCustomer(TabularInline):  # type: ignore[misc]
    """The keys, read-only: they have pages of their own."""

    model = ApiKey
    verbose_name_plural = "API keys"
    fields = readonly_fields = ("key", "tier", "state", "used")
    ordering = ("-created_at",)
    per_page = 20
    extra = 0
    can_delete = False
    show_change_link = False
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        queryset: QuerySet[ApiKey] = super().get_queryset(request)
        return queryset.select_related("tier").defer("digest")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    key = column("key", lambda row: link(row, "access_apikey_change", row.pk))
    state = column("state", lambda row: key_badge(row, timezone.now()))
    used = column("last used", lambda row: ago(row.last_used_at))


def _of_customer(page: str) -> Callable[[Any, int], str]:
    return lambda _admin, pk: f"{reverse(f'admin:{page}')}?customer={pk}"


def _allowed(permission: str) -> Any:
    """A permission method for actions: the theme looks dotted permissions up in the database while
    checks run, before the first migration.
    """

    def has_permission(_admin: Any, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm(permission)

    return has_permission


@admin.register(Customer)
class CustomerAdmin(StaffAdmin):
    list_display = ("name", "email", "keys", "calls", "used", "created")
    ordering = ("name",)  # Meta's does not survive the counting below
    search_fields = ("name", "email", "notes")
    search_help_text = "Name, e-mail or notes"
    fields = ("name", "email", "alert_mails", "notes")
    change_form_outer_after_template = "admin/access/customer/usage.html"
    inlines: ClassVar[list[Any]] = [KeysOfCustomer]
    actions = None
    actions_detail = ("show_usage", "issue_key", "portal_users", "add_portal_user")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Customer]:
        queryset: QuerySet[Customer] = super().get_queryset(request)
        return queryset.annotate(key_count=Count("keys"), used_at=Max("keys__last_used_at"))

    def complete_rows(self, rows: Any) -> None:
        # Of the customers on the page alone: of all it would take long.
        start, end = month_of(timezone.now())
        shown = [customer.pk for customer in rows]
        calls = usage_queries.counted_by_customer(shown, start.date(), end.date())
        for customer in rows:
            customer.month_calls = calls.get(customer.pk, 0)

    def get_inlines(self, request: HttpRequest, obj: Customer | None) -> list[Any]:
        return [] if obj is None else self.inlines

    keys = column(
        "keys",
        lambda row: link(
            grouped(row.key_count), "access_apikey_changelist", customer__id__exact=row.pk
        ),
        "key_count",
    )
    calls = column(
        "counted this month",
        lambda row: link(
            grouped(row.month_calls), "access_usageminute_changelist", customer=row.pk, span="month"
        ),
    )
    used = column("last used", lambda row: ago(row.used_at), "used_at")
    created = column("created", lambda row: ago(row.created_at), "created_at")

    show_usage = theme_link(
        "show_usage", "Usage", "bar_chart", "usage", _of_customer("access_usageminute_changelist")
    )
    issue_key = theme_link(
        "issue_key", "Issue a key", "key", "issue", _of_customer("access_apikey_add")
    )
    portal_users = theme_link(
        "portal_users", "Portal users", "badge", "portal", _of_customer("portal_member_changelist")
    )
    add_portal_user = theme_link(
        "add_portal_user",
        "Add a portal user",
        "person_add",
        "add_portal",
        _of_customer("portal_member_add"),
    )

    has_usage_permission = _allowed("access.view_usageminute")
    has_issue_permission = _allowed("access.add_apikey")
    has_portal_permission = _allowed("portal.view_member")
    has_add_portal_permission = _allowed("portal.add_member")

    def beside_fields(self, request: HttpRequest, row: Customer) -> dict[str, Any]:
        if not request.user.has_perm("access.view_usageminute"):
            return {}
        asked = Asked(customer_id=row.pk, **usage_panel.narrowing(request))
        return {"usage": usage_panel.panel(request, asked)}

    def save_model(self, request: HttpRequest, obj: Customer, form: Any, change: bool) -> None:
        customer_edits.save_customer(obj)

    def delete_model(self, request: HttpRequest, obj: Customer) -> None:
        customer_edits.delete_customer(obj)

    def why_not_delete(self, row: Customer) -> str | None:
        return customer_edits.why_customer_stays(row)
