"""Webhooks: the list, adding, changing, actions, and deliveries."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from alerts import addresses
from alerts.admin.states import customer_link, delivery_rows, kind_badge, webhook_state
from alerts.admin.webhook_actions import ACTIONS
from alerts.admin.webhook_form import WebhookForm
from alerts.models import Delivery, Webhook
from alerts.services import webhooks
from alerts.store import newest_deliveries
from staff.actions import ActionsAdmin, AdminAction
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, grouped, utc

_SHOWN = 20
_STANDINGS = {
    "working": Q(is_enabled=True, failing_since__isnull=True),
    "failing": Q(is_enabled=True, failing_since__isnull=False),
    "off": Q(is_enabled=False),
}


StandingFilter = choice_filter(
    "state", "standing", {name: (name, condition) for name, condition in _STANDINGS.items()}
)
OwnerFilter = choice_filter(
    "owner",
    "owner",
    {
        "staff": ("the staff", Q(customer__isnull=True)),
        "customers": ("customers", Q(customer__isnull=False)),
    },
)


@admin.register(Webhook)
class WebhookAdmin(ActionsAdmin):
    admin_actions = ACTIONS
    action_path = "<int:pk>/orders/<slug:name>/"
    adds_one = True
    plain_choices = ("customer",)
    form = WebhookForm
    list_display = ("name", "owner", "leads_to", "events", "standing", "delivered")
    list_filter = (StandingFilter, OwnerFilter)
    list_select_related = ("customer",)
    search_fields = ("name", "customer__name", "url")
    search_help_text = "Name, customer or address"
    autocomplete_fields = ("customer",)
    actions = None
    change_form_outer_before_template = "admin/alerts/webhook/row_actions.html"
    change_form_outer_after_template = "admin/alerts/deliveries.html"
    readonly_fields = ("owner", "leads_to", "events")
    why_nothing = (
        "A webhook is a URL to which events are posted: customers add theirs in the portal,"
        " staff adds its own here for alarms."
    )

    # --- what is shown ---

    owner = column("owner", lambda row: customer_link(row.customer), "customer__name")

    @admin.display(description="leads to")
    def leads_to(self, webhook: Webhook) -> SafeString:
        # The host alone: the path may hold a secret of its receiver.
        return format_html("<code>{}</code>", addresses.host_of(webhook.url))

    @admin.display(description="events")
    def events(self, webhook: Webhook) -> SafeString | str:
        if not webhook.kinds:
            return "all"
        if len(webhook.kinds) == 1:
            return kind_badge(webhook.kinds[0])
        return format_html('<span title="{}">{} kinds</span>', ", ".join(webhook.kinds),
                           len(webhook.kinds))  # fmt: skip

    standing = column("state", lambda row: webhook_state(row, timezone.now()))
    delivered = column("last success", lambda row: ago(row.delivered_at), "delivered_at")

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        # Searching would reveal the path letter by letter to users who see only the host.
        return self.search_fields if self.has_change_permission(request) else self.search_fields[:2]

    # --- one webhook ---

    def get_fields(self, request: HttpRequest, obj: Webhook | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("customer", "name", "url", "kinds")
        if not self.has_change_permission(request, obj):
            return ("owner", "name", "leads_to", "events")
        return ("owner", "name", "url", "kinds")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Webhook | None = None
    ) -> tuple[str, ...]:
        return () if obj is None else self.readonly_fields

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in ("name", "url", "kinds")}
        if change:
            webhooks.edit(obj.pk, **given)
            return
        customer = form.cleaned_data["customer"]
        made = webhooks.create(None if customer is None else customer.pk, **given)
        obj.__dict__.update(made.__dict__)

    def why_not_delete(self, row: Webhook) -> str | None:
        return webhooks.why_in_use(row)

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        webhooks.delete(obj.pk)

    def response_add(
        self, request: HttpRequest, obj: Webhook, post_url_continue: str | None = None
    ) -> HttpResponse:
        messages.success(
            request, f"Added {obj}. Give the secret to the receiver, then send a test."
        )
        return HttpResponseRedirect(reverse("admin:alerts_webhook_change", args=[obj.pk]))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its deliveries are deleted with it: they are counted, not listed."""
        count = Delivery.objects.filter(webhook__in=objs).count()
        listed = [*map(str, objs), f"{grouped(count)} deliveries to it, with their attempts"]
        return listed, {"webhooks": len(objs), "deliveries": count}, set(), []

    def beside_fields(self, request: HttpRequest, row: Webhook) -> dict[str, Any]:
        now = timezone.now()
        may = self.has_change_permission(request, row)
        none = "No deliveries yet."
        if may and row.is_enabled:
            none += " Send a test to check that the receiver answers."
        elif may:
            none += " Enable it, then send a test."
        return {
            "state": webhook_state(row, now),
            "reason": row.disabled_reason,
            "problem": row.last_problem,
            "last_success": ago(row.delivered_at, now),
            "waiting": grouped(row.deliveries.filter(state=Delivery.State.WAITING).count()),
            "actions": [each for each in ACTIONS if may and not each.why_not(request, row)],
            "none": none,
            "deliveries": delivery_rows(newest_deliveries(row, _SHOWN), now),
            "may_see_deliveries": request.user.has_perm("alerts.view_delivery"),
            "all_link": reverse("admin:alerts_delivery_changelist")
            + f"?webhook__id__exact={row.pk}",
        }

    # --- actions ---

    def result_page(
        self, request: HttpRequest, action: AdminAction, row: Webhook, result: Any
    ) -> HttpResponse:
        row.refresh_from_db()
        until, old = row.previous_until, ""
        if until is not None and until > timezone.now():
            old = f" Requests are also signed with the previous one until {utc(until)}."
        context = {
            "title": f"Secret of {row}",
            "note": action.said,
            "heading": row.name,
            "about": row.customer or "the staff",
            "secret": result,
            "hint": "The receiver verifies requests with it, by any library of Standard Webhooks."
            + old,
            "back": self.page_of(row.pk),
            "back_text": "Back to the webhook",
        }
        return self.page(request, "admin/secret.html", context)
