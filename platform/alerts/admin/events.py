"""Events: what happened, and who was told."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin
from access.models import Customer
from alerts.admin.deliveries import customer_link
from alerts.admin.standings import delivery_rows, kind_word
from alerts.kinds import KINDS
from alerts.models import Delivery, Event
from staff.formatting import ago, badge, utc

_MOST_FOUND = 500
_SHOWN = 100


class KindFilter(admin.SimpleListFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(kind=self.value()) if self.value() in KINDS else queryset


class ConcernFilter(admin.SimpleListFilter):
    title = "concerns"
    parameter_name = "concerns"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("staff", "the staff")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(customer__isnull=True) if self.value() == "staff" else queryset


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("kind_name", "subject", "concerns", "reached", "happened")
    list_display_links = ("kind_name", "subject")
    list_filter = (KindFilter, ConcernFilter)
    list_select_related = ("customer",)
    list_per_page = 50
    # There may be a million: a count of all would take longer than the page.
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("kind",)  # looked for in get_search_results
    search_help_text = "A part of a customer's name"
    fieldsets = (
        (None, {"fields": ("kind_name", "meaning", "concerns", "subject", "said", "happened_at")}),
        ("Posted data", {"fields": ("content",)}),
    )
    readonly_fields = (
        *("kind_name", "meaning", "concerns", "subject", "said", "happened_at"),
        "content",
    )
    change_form_outer_after_template = "admin/alerts/event/deliveries.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        queryset: QuerySet[Event] = super().get_queryset(request)
        return queryset.select_related("customer").prefetch_related("deliveries")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        named = Customer.objects.filter(name__icontains=text).order_by("pk")
        found = list(named.values_list("pk", flat=True)[:_MOST_FOUND])
        return queryset.filter(customer__in=found), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = (
            "Events come when something happens to keys, when the calls of a month run out, and"
            " when alarms open or close. They are kept for 35 days."
        )
        return changes

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        if not object_id.isdecimal() or len(object_id) > 18:
            return {}
        told = Delivery.objects.filter(event=int(object_id)).select_related("event", "webhook")
        return {
            "deliveries": delivery_rows(told.order_by("pk")[:_SHOWN], timezone.now()),
            "may_see_deliveries": request.user.has_perm("alerts.view_delivery"),
        }

    @admin.display(description="kind")
    def kind_name(self, event: Event) -> SafeString:
        return kind_word(event.kind)

    @admin.display(description="meaning")
    def meaning(self, event: Event) -> str:
        kind = KINDS.get(event.kind)
        return "" if kind is None else kind.meaning

    @admin.display(description="concerns")
    def concerns(self, event: Event) -> SafeString | str:
        return customer_link(event.customer)

    @admin.display(description="about")
    def subject(self, event: Event) -> str:
        return event.about

    @admin.display(description="text")
    def said(self, event: Event) -> str:
        return event.text

    @admin.display(description="told")
    def reached(self, event: Event) -> SafeString | str:
        if event.spread_at is None:
            return badge("soon", "quiet", "It goes out within seconds")
        deliveries = list(event.deliveries.all())
        if not deliveries:
            return badge("nobody", "quiet", "No webhook and no mail address wanted it")
        failed = sum(each.state == Delivery.State.FAILED for each in deliveries)
        done = sum(each.state == Delivery.State.DELIVERED for each in deliveries)
        hue = "bad" if failed else "good" if done == len(deliveries) else "warning"
        hint = f"{done} delivered, {failed} given up, {len(deliveries) - done - failed} waiting"
        return badge(f"{done} of {len(deliveries)}", hue, hint)

    @admin.display(description="happened", ordering="pk")
    def happened(self, event: Event) -> SafeString | str:
        return ago(event.at)

    @admin.display(description="happened")
    def happened_at(self, event: Event) -> str:
        return utc(event.at, seconds=True)

    @admin.display(description="data")
    def content(self, event: Event) -> SafeString:
        text = json.dumps(event.data, indent=2, ensure_ascii=False)
        return format_html('<pre class="tm-pre">{}</pre>', text)
