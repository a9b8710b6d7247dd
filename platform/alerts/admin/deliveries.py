"""Deliveries: state, attempts, and delivering again."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from access.errors import ActionRefused
from alerts.admin.states import attempt_rows, customer_link, delivery_state, kind_badge
from alerts.models import Delivery, Webhook
from alerts.services import webhooks
from alerts.services.delivering import message_id
from staff import audit
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, counted, grouped, in_full, link, moment, timed
from staff.own_pages import PagesAdmin
from staff.read_only import LongListAdmin

_MOST_AGAIN = 200
_ATTEMPTS_SHOWN = 100
_MOST_FOUND = 500


_STATES = (("waiting", "waiting"), ("delivered", "delivered"), ("failed", "given up"))
StateFilter = choice_filter(
    "state", "state", {value: (label, Q(state=value)) for value, label in _STATES}
)


@admin.register(Delivery)
class DeliveryAdmin(PagesAdmin, LongListAdmin):
    list_display = ("kind", "about", "to", "status", "attempts", "happened")
    list_display_links = ("kind", "about")
    list_filter = (StateFilter,)
    list_select_related = ("event", "webhook", "event__customer")
    search_fields = ("mail_to",)  # by `condition`
    search_help_text = "Mail address, webhook or customer"
    actions = ("deliver_again",)
    row_buttons: ClassVar = {"again": "deliver_again"}
    fieldsets = (
        (None, {"fields": ("kind", "about", "text", "customer", "happened_at")}),
        ("Delivery", {"fields": ("to", "status", "attempts", "next_attempt", "message")}),
    )
    change_form_outer_after_template = "admin/alerts/delivery/attempts.html"
    why_nothing = (
        "Each event is delivered to the webhooks and mail addresses that subscribe to it."
        " They are kept for 35 days."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        queryset: QuerySet[Delivery] = super().get_queryset(request)
        return queryset.select_related("event__customer", "webhook")

    def condition(self, text: str) -> Q | None:
        if "@" in text:
            return Q(mail_to=text)
        named = Webhook.objects.filter(name__icontains=text) | Webhook.objects.filter(
            customer__name__icontains=text
        )
        found = list(named.order_by("pk").values_list("pk", flat=True)[:_MOST_FOUND])
        return Q(webhook__in=found)

    def beside_fields(self, request: HttpRequest, row: Delivery) -> dict[str, Any]:
        # Delivered again by hand there may be many: the newest are shown.
        newest = list(row.log.order_by("-pk")[:_ATTEMPTS_SHOWN])
        by_mail = row.webhook_id is None
        return {
            "attempts": attempt_rows(reversed(newest), timezone.now(), by_mail=by_mail),
            "may_deliver": self.has_act_permission(request),
        }

    # --- actions ---

    @admin.action(description="Deliver again", permissions=["act"])
    def deliver_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        chosen = list(queryset.order_by("pk")[: _MOST_AGAIN + 1])
        if len(chosen) > _MOST_AGAIN:
            messages.error(request, f"At most {_MOST_AGAIN} at once: choose fewer")
            return
        sent = 0
        for delivery in chosen:
            try:
                self._send(request, delivery)
                sent += 1
            except ActionRefused as refusal:
                messages.warning(request, f"{delivery}: {refusal}")
        if sent:
            count = counted(sent, "delivery", "deliveries")
            messages.success(request, f"Sending {count} again.")

    def _send(self, request: HttpRequest, delivery: Delivery) -> None:
        with transaction.atomic():
            webhooks.redeliver(delivery.pk, now=timezone.now())
            audit.record(request, "sent again", delivery)

    # --- what is shown ---

    kind = column("event", lambda row: kind_badge(row.event.kind))
    about = column("about", lambda row: row.event.about)
    text = column("text", lambda row: timed(row.event.text))
    to = column(
        "to",
        lambda row: (
            row.mail_to
            if row.webhook is None
            else link(row.webhook, "alerts_webhook_change", row.webhook_id)
        ),
    )
    customer = column("customer", lambda row: customer_link(row.event.customer))
    status = column("state", lambda row: delivery_state(row, timezone.now()))
    attempts = column("attempts", lambda row: grouped(row.tries))
    next_attempt = column(
        "next attempt",
        lambda row: "none" if row.state != Delivery.State.WAITING else ago(row.due_at),
    )
    happened = column("happened", lambda row: ago(row.event.at))
    happened_at = column("happened", lambda row: moment(row.event.at, seconds=True))
    message = column(
        "webhook-id",
        lambda row: (
            "none: sent by mail" if row.webhook_id is None else in_full(message_id(row.event))
        ),
    )
