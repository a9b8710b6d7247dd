"""Customers' event rules."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from alerts.admin.states import customer_link, delivery_rows, rule_state
from alerts.conditions import TITLES, Trigger, described, read_condition
from alerts.models import Rule
from alerts.store import newest_deliveries
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import link, moment
from staff.read_only import ReadOnlyAdmin

_SHOWN = 20
_STATES = {
    "on": ("on", Q(is_enabled=True)),
    "off": ("off", Q(is_enabled=False)),
}
_TRIGGERS = {each.value: (title, Q(trigger=each.value)) for each, title in TITLES.items()}


@admin.register(Rule)
class RuleAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "about", "condition_text", "to", "standing")
    list_filter = (
        choice_filter("state", "standing", _STATES),
        choice_filter("event", "event", _TRIGGERS),
    )
    list_select_related = ("customer", "webhook")
    search_fields = ("name", "customer__name")
    search_help_text = "Name or customer"
    fieldsets = (
        (None, {"fields": ("name", "owner", "about", "condition_text", "to", "standing")}),
        ("Times", {"fields": ("created", "enabled")}),
    )
    change_form_outer_after_template = "admin/alerts/deliveries.html"
    why_nothing = "Customers add event rules in the portal, and by the management API."

    def beside_fields(self, request: HttpRequest, row: Rule) -> dict[str, Any]:
        return {
            "none": "No deliveries yet.",
            "deliveries": delivery_rows(newest_deliveries(row, _SHOWN), timezone.now()),
            "may_see_deliveries": request.user.has_perm("alerts.view_delivery"),
        }

    owner = column("customer", lambda row: customer_link(row.customer), "customer__name")
    about = column("event", lambda row: TITLES[Trigger(row.trigger)])
    condition_text = column(
        "condition", lambda row: described(read_condition(row.trigger, row.condition))
    )
    standing = column("state", rule_state)
    created = column("created", lambda row: moment(row.created_at))
    enabled = column("on since", lambda row: moment(row.enabled_at))

    @admin.display(description="sent to")
    def to(self, rule: Rule) -> SafeString | str:
        if rule.webhook is None:
            return "mail"
        return link(rule.webhook, "alerts_webhook_change", rule.webhook_id)
