"""Deliveries: what became of each, every try, and sending one again."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin
from access.errors import OrderRefused
from alerts.admin.standings import delivery_standing, kind_word, try_rows
from alerts.models import Delivery, Webhook
from alerts.services import webhooks
from alerts.services.delivering import message_id
from staff import audit
from staff.formatting import ago, grouped, in_full, utc

_MOST_AGAIN = 200
_TRIES_SHOWN = 100
_MOST_FOUND = 500


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("waiting", "waiting"), ("delivered", "delivered"), ("failed", "given up")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in Delivery.State.values:
            return queryset
        return queryset.filter(state=self.value())


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("kind", "about", "to", "standing", "tried", "happened")
    list_display_links = ("kind", "about")
    list_filter = (StateFilter,)
    list_select_related = ("event", "webhook", "event__customer")
    list_per_page = 50
    # There may be a million: a count of all would take longer than the page.
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("mail_to",)  # looked for in get_search_results
    search_help_text = "Mail address, webhook or customer"
    actions = ("deliver_again",)
    fieldsets = (
        (None, {"fields": ("kind", "about", "text", "customer", "happened_at")}),
        ("Delivery", {"fields": ("to", "standing", "tried", "next_try", "message")}),
    )
    readonly_fields = (
        *("kind", "about", "text", "customer", "happened_at"),
        *("to", "standing", "tried", "next_try", "message"),
    )
    change_form_outer_after_template = "admin/alerts/delivery/tries.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        queryset: QuerySet[Delivery] = super().get_queryset(request)
        return queryset.select_related("event__customer", "webhook")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        if "@" in text:
            return queryset.filter(mail_to=text), False
        named = Webhook.objects.filter(name__icontains=text) | Webhook.objects.filter(
            customer__name__icontains=text
        )
        found = list(named.order_by("pk").values_list("pk", flat=True)[:_MOST_FOUND])
        return queryset.filter(webhook__in=found), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = (
            "An event becomes deliveries to the webhooks and mail addresses that want it."
            " They are kept for 35 days."
        )
        return changes

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        if not object_id.isdecimal() or len(object_id) > 18:
            return {}
        delivery = Delivery.objects.filter(pk=int(object_id)).first()
        if delivery is None:
            return {}
        # Sent again and again by hand there may be many: the newest tell most.
        newest = list(delivery.log.order_by("-pk")[:_TRIES_SHOWN])
        by_mail = delivery.webhook_id is None
        return {
            "tries": try_rows(reversed(newest), timezone.now(), by_mail=by_mail),
            "may_deliver": self.has_deliver_permission(request),
        }

    # --- orders ---

    def has_deliver_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("alerts.change_delivery")

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "<int:pk>/again/",
            self.admin_site.admin_view(self._again),
            name="alerts_delivery_again",
        )
        return [own, *super().get_urls()]

    def _again(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_deliver_permission(request):
            raise PermissionDenied
        delivery = self.get_queryset(request).filter(pk=pk).first()
        if delivery is None:
            raise Http404
        try:
            self._send(request, delivery)
        except OrderRefused as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(
                request, "It is on its way again: see the tries below in some seconds."
            )
        return redirect("admin:alerts_delivery_change", pk)

    @admin.action(description="Deliver again", permissions=["deliver"])
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
            except OrderRefused as refusal:
                messages.warning(request, f"{delivery}: {refusal}")
        if sent:
            noun = "delivery is" if sent == 1 else "deliveries are"
            messages.success(request, f"{sent} {noun} on the way again.")

    def _send(self, request: HttpRequest, delivery: Delivery) -> None:
        with transaction.atomic():
            webhooks.redeliver(delivery.pk, now=timezone.now())
            audit.record(request, "sent again", delivery)

    # --- what is shown ---

    @admin.display(description="event")
    def kind(self, delivery: Delivery) -> SafeString:
        return kind_word(delivery.event.kind)

    @admin.display(description="about")
    def about(self, delivery: Delivery) -> str:
        return delivery.event.about

    @admin.display(description="text")
    def text(self, delivery: Delivery) -> str:
        return delivery.event.text

    @admin.display(description="to")
    def to(self, delivery: Delivery) -> SafeString | str:
        if delivery.webhook is None:
            return delivery.mail_to
        link = reverse("admin:alerts_webhook_change", args=[delivery.webhook_id])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, delivery.webhook)

    @admin.display(description="customer")
    def customer(self, delivery: Delivery) -> SafeString | str:
        return customer_link(delivery.event.customer)

    @admin.display(description="state")
    def standing(self, delivery: Delivery) -> SafeString:
        return delivery_standing(delivery, timezone.now())

    @admin.display(description="tries")
    def tried(self, delivery: Delivery) -> str:
        return grouped(delivery.tries)

    @admin.display(description="next try")
    def next_try(self, delivery: Delivery) -> SafeString | str:
        if delivery.state != Delivery.State.WAITING:
            return "none"
        return ago(delivery.due_at)

    @admin.display(description="happened")
    def happened(self, delivery: Delivery) -> SafeString | str:
        return ago(delivery.event.at)

    @admin.display(description="happened")
    def happened_at(self, delivery: Delivery) -> str:
        return utc(delivery.event.at, seconds=True)

    @admin.display(description="webhook-id")
    def message(self, delivery: Delivery) -> SafeString | str:
        if delivery.webhook_id is None:
            return "a mail has none"
        return in_full(message_id(delivery.event))


def customer_link(customer: Any) -> SafeString | str:
    if customer is None:
        return "the staff"
    link = reverse("admin:access_customer_change", args=[customer.pk])
    return format_html('<a class="tm-link" href="{}">{}</a>', link, customer)
