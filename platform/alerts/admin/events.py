"""Events and their deliveries."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.models import Customer
from alerts.admin.states import customer_link, delivery_rows, kind_badge
from alerts.kinds import KINDS
from alerts.models import Delivery, Event
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, moment, timed
from staff.read_only import LongListAdmin

_MOST_FOUND = 500
_SHOWN = 100


_KINDS = {name: (name, Q(kind=name)) for name in KINDS}
_CONCERNS = {"staff": ("the staff", Q(customer__isnull=True))}


@admin.register(Event)
class EventAdmin(LongListAdmin):
    list_display = ("kind_name", "subject", "concerns", "reached", "happened")
    list_display_links = ("kind_name", "subject")
    list_filter = (
        choice_filter("kind", "kind", _KINDS),
        choice_filter("concerns", "concerns", _CONCERNS),
    )
    list_select_related = ("customer",)
    search_fields = ("kind",)  # by `condition`
    search_help_text = "A part of a customer's name"
    fieldsets = (
        (
            None,
            {"fields": ("kind_name", "meaning", "concerns", "subject", "words", "happened_at")},
        ),
        ("Posted data", {"fields": ("content",)}),
    )
    change_form_outer_after_template = "admin/alerts/deliveries.html"
    why_nothing = (
        "Events are published when keys change, monthly quotas run out, and alarms open or"
        " close. They are kept for 35 days."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        queryset: QuerySet[Event] = super().get_queryset(request)
        return queryset.select_related("customer").prefetch_related("deliveries")

    def condition(self, text: str) -> Q | None:
        named = Customer.objects.filter(name__icontains=text).order_by("pk")
        return Q(customer__in=list(named.values_list("pk", flat=True)[:_MOST_FOUND]))

    def beside_fields(self, request: HttpRequest, row: Event) -> dict[str, Any]:
        found = Delivery.objects.filter(event=row).select_related("event", "webhook")
        return {
            "show_to": True,
            "none": "None: no webhook and no mail address subscribes to this kind."
            if row.spread_at
            else "It is delivered within seconds.",
            "deliveries": delivery_rows(found.order_by("pk")[:_SHOWN], timezone.now()),
            "may_see_deliveries": request.user.has_perm("alerts.view_delivery"),
        }

    kind_name = column("kind", lambda row: kind_badge(row.kind))

    @admin.display(description="meaning")
    def meaning(self, event: Event) -> str:
        kind = KINDS.get(event.kind)
        return "" if kind is None else kind.meaning

    concerns = column("concerns", lambda row: customer_link(row.customer))
    subject = column("about", lambda row: row.about)
    words = column("text", lambda row: timed(row.text))

    @admin.display(description="delivered")
    def reached(self, event: Event) -> SafeString | str:
        if event.spread_at is None:
            return badge("soon", "quiet", "It is delivered within seconds")
        deliveries = list(event.deliveries.all())
        if not deliveries:
            return badge("none", "quiet", "No webhook and no mail address subscribes to it")
        failed = sum(each.state == Delivery.State.FAILED for each in deliveries)
        done = sum(each.state == Delivery.State.DELIVERED for each in deliveries)
        hue = "bad" if failed else "good" if done == len(deliveries) else "warning"
        hint = f"{done} delivered, {failed} given up, {len(deliveries) - done - failed} waiting"
        return badge(f"{done} of {len(deliveries)}", hue, hint)

    happened = column("happened", lambda row: ago(row.at), "pk")
    happened_at = column("happened", lambda row: moment(row.at, seconds=True))

    @admin.display(description="data")
    def content(self, event: Event) -> SafeString:
        text = json.dumps(event.data, indent=2, ensure_ascii=False)
        return format_html('<pre class="tm-pre">{}</pre>', text)
