"""Webhooks: the list, adding and changing one, its orders and what was delivered to it."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.errors import OrderRefused
from alerts import addresses
from alerts.admin import webhook_orders
from alerts.admin.standings import delivery_rows, kind_word, webhook_standing
from alerts.admin.webhook_form import WebhookForm
from alerts.models import Delivery, Webhook
from alerts.services import webhooks
from staff.formatting import ago, grouped
from staff.pages import StaffAdmin

_SHOWN = 20
_STANDINGS = {
    "working": Q(is_enabled=True, failing_since__isnull=True),
    "failing": Q(is_enabled=True, failing_since__isnull=False),
    "off": Q(is_enabled=False),
}


class StandingFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in _STANDINGS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = _STANDINGS.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


class OwnerFilter(admin.SimpleListFilter):
    title = "owner"
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("staff", "the staff"), ("customers", "customers")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("staff", "customers"):
            return queryset
        return queryset.filter(customer__isnull=self.value() == "staff")


@admin.register(Webhook)
class WebhookAdmin(StaffAdmin):
    form = WebhookForm
    list_display = ("name", "owner", "leads_to", "told_of", "standing", "delivered")
    list_filter = (StandingFilter, OwnerFilter)
    list_select_related = ("customer",)
    list_per_page = 50
    search_fields = ("name", "customer__name", "url")
    search_help_text = "Name, customer or address"
    autocomplete_fields = ("customer",)
    actions = None
    change_form_outer_before_template = "admin/alerts/webhook/orders.html"
    change_form_outer_after_template = "admin/alerts/webhook/deliveries.html"
    readonly_fields = ("owner", "leads_to", "told_of")

    # --- what is shown ---

    @admin.display(description="owner", ordering="customer__name")
    def owner(self, webhook: Webhook) -> SafeString | str:
        if webhook.customer is None:
            return "the staff"
        link = reverse("admin:access_customer_change", args=[webhook.customer_id])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, webhook.customer)

    @admin.display(description="leads to")
    def leads_to(self, webhook: Webhook) -> SafeString:
        # The host alone: the path may hold a secret of its receiver.
        return format_html("<code>{}</code>", addresses.host_of(webhook.url))

    @admin.display(description="events")
    def told_of(self, webhook: Webhook) -> SafeString | str:
        if not webhook.kinds:
            return "all"
        if len(webhook.kinds) == 1:
            return kind_word(webhook.kinds[0])
        return format_html('<span title="{}">{} kinds</span>', ", ".join(webhook.kinds),
                           len(webhook.kinds))  # fmt: skip

    @admin.display(description="state")
    def standing(self, webhook: Webhook) -> SafeString:
        return webhook_standing(webhook, timezone.now())

    @admin.display(description="last success", ordering="delivered_at")
    def delivered(self, webhook: Webhook) -> SafeString | str:
        return ago(webhook.delivered_at)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = (
            "A webhook is an address that events are posted to: customers add theirs in the"
            " portal, the staff adds its own here to hear of alarms."
        )
        return changes

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        # Searching would tell a path letter by letter to who sees only the host.
        return self.search_fields if self.has_change_permission(request) else self.search_fields[:2]

    # --- one webhook ---

    def get_fields(self, request: HttpRequest, obj: Webhook | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("customer", "name", "url", "kinds")
        if not self.has_change_permission(request, obj):
            return ("owner", "name", "leads_to", "told_of")
        return ("owner", "name", "url", "kinds")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Webhook | None = None
    ) -> tuple[str, ...]:
        return () if obj is None else self.readonly_fields

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name == "customer":
            for name in ("can_add_related", "can_change_related", "can_view_related"):
                setattr(field.widget, name, False)
        return field

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in ("name", "url", "kinds")}
        if change:
            webhooks.edit(obj.pk, **given)
            return
        customer = form.cleaned_data["customer"]
        made = webhooks.create(None if customer is None else customer.pk, **given)
        obj.__dict__.update(made.__dict__)

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        webhooks.delete(obj.pk)

    def response_add(
        self, request: HttpRequest, obj: Webhook, post_url_continue: str | None = None
    ) -> HttpResponse:
        messages.success(
            request, f"{obj} is added. Give its secret to its receiver, then send a test."
        )
        return HttpResponseRedirect(reverse("admin:alerts_webhook_change", args=[obj.pk]))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its deliveries go with it: they are counted, not listed one by one."""
        count = Delivery.objects.filter(webhook__in=objs).count()
        listed = [*map(str, objs), f"{grouped(count)} deliveries to it, with their tries"]
        return listed, {"webhooks": len(objs), "deliveries": count}, set(), []

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
        elif object_id.isdecimal() and len(object_id) < 19:
            extra |= self._beside(request, int(object_id))
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        except OrderRefused as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.path)
        return response

    def _beside(self, request: HttpRequest, pk: int) -> dict[str, Any]:
        webhook = Webhook.objects.filter(pk=pk).first()
        if webhook is None:
            return {}
        now = timezone.now()
        by_state = dict(
            Delivery.objects.filter(webhook=webhook, state=Delivery.State.WAITING)
            .values_list("state")
            .annotate(Count("pk"))
        )
        newest = Delivery.objects.filter(webhook=webhook).select_related("event", "webhook")
        may = self.has_change_permission(request, webhook)
        return {
            "standing": webhook_standing(webhook, now),
            "reason": webhook.disabled_reason,
            "problem": webhook.last_problem,
            "last_success": ago(webhook.delivered_at, now),
            "waiting": grouped(by_state.get(Delivery.State.WAITING, 0)),
            "orders": webhook_orders.fit_orders(webhook) if may else [],
            "deliveries": delivery_rows(newest.order_by("-pk")[:_SHOWN], now),
            "may_see_deliveries": request.user.has_perm("alerts.view_delivery"),
            "all_link": f"{reverse('admin:alerts_delivery_changelist')}?webhook__id__exact={pk}",
        }

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = path(
            "<int:pk>/orders/<slug:name>/",
            wrap(lambda request, pk, name: webhook_orders.carry_out(self, request, pk, name)),
            name="alerts_webhook_order",
        )
        return [own, *super().get_urls()]
