"""Admin of orders over ranges of slots: create, watch, cancel."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Max, Min, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from chain.slot_ranges import SlotRange
from ingest.errors import ActionRefused
from ingest.findings import FINDINGS
from ingest.models import RangeOrder
from ingest.services import orders
from ingest.store.orders import OPEN
from staff import audit
from staff.columns import column
from staff.formatting import ago, badge, counted, grouped, progress, slot_range
from staff.own_pages import PagesAdmin
from staff.parsing import slot_in
from staff.read_only import ReadOnlyAdmin
from staff.states import state_badge

_LISTED = 200
_KINDS = [("verify", "Verify"), ("reingest", "Re-ingest"), ("locate", "Search refuted slots")]


class SlotField(forms.CharField):
    """A slot, with or without commas."""

    widget = UnfoldAdminTextInputWidget

    def clean(self, value: Any) -> int:
        slot = slot_in(super().clean(value).strip())
        if slot is None:
            raise forms.ValidationError("Not a slot: a number is expected, such as 332254855")
        return slot


class OrderForm(forms.ModelForm):  # type: ignore[type-arg]
    kind = forms.ChoiceField(
        label="What",
        choices=_KINDS,
        initial="verify",
        widget=UnfoldAdminRadioSelectWidget,
        help_text="Verify checks the consistency of stored data, and changes nothing."
        " Re-ingest fetches the slots again, and stores what is missing or differs. A search finds"
        " the accounts for which the cluster voted otherwise in refuted slots of the archive.",
    )
    first_slot = SlotField(label="From slot")
    last_slot = SlotField(
        label="To slot",
        help_text=f"Both included. At most {orders.MOST_READ:,} slots if only stored data is read,"
        f" {orders.MOST_FETCHED:,} if slots are fetched.",
    )
    ledger = forms.BooleanField(
        label="Ledger", required=False, initial=True, widget=UnfoldBooleanSwitchWidget
    )
    archive = forms.BooleanField(
        label="Archive",
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Account writes. No node has them: they are fetched from the stream's replay,"
        " as far back as its server keeps slots.",
    )
    source = forms.ChoiceField(
        label="Source",
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="Where to fetch slots from, or what to compare with. A verification without a"
        " source checks stored data alone: links, hashes, counts, and the ledger's transactions"
        " against the archive's writes. A search replays the slots' transactions, and where it"
        " compares with the stream, what differs is fetched again.",
    )

    class Meta:
        model = RangeOrder
        fields = ("kind", "first_slot", "last_slot", "ledger", "archive", "source")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = [(name, f"Node {name} (getBlock)") for name in orders.source_names()]
        stream = (orders.STREAM, "The stream's replay")
        source: Any = self.fields["source"]
        source.choices = [("", "None: stored data only"), stream, *named]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("kind") == RangeOrder.Kind.LOCATE:
            values |= {"archive": True, "ledger": False}
        if not self.errors:
            try:
                orders.check(**_asked(values))
            except ActionRefused as refused:
                raise forms.ValidationError(str(refused)) from None
        return values

    def _post_clean(self) -> None:
        """Nothing: `orders` validates with better texts, and creates the row itself."""


@admin.register(RangeOrder)
class RangeOrderAdmin(PagesAdmin, ReadOnlyAdmin):
    list_display = ("slots", "what", "areas", "asked_of", "standing", "progress", "found", "asked")
    list_filter = ("kind", "state")
    ordering = ("-pk",)
    search_fields = ("first_slot",)  # by `condition`
    search_help_text = "A slot"
    actions = ["cancel_orders"]
    row_buttons: ClassVar = {"cancel": "cancel_orders", "gaps": "open_gaps"}
    adds_one = True
    change_form_outer_after_template = "admin/ingest/rangeorder/findings.html"

    def get_form(self, *_args: Any, **_kwargs: Any) -> Any:
        return OrderForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            fields = ("kind", ("first_slot", "last_slot"), "ledger", "archive", "source")
            return ((None, {"fields": fields}),)
        first = ("slots", "what", "areas", "asked_of", "standing", "progress", "why")
        return (
            (None, {"fields": first}),
            (
                "Result",
                {"fields": ("sound_slots", "stored_slots", "changed_slots", "verified", "found")},
            ),
            ("Times", {"fields": ("asked", "begun", "ended")}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else super().get_readonly_fields(request, obj)

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(first_slot__lte=slot, last_slot__gte=slot)

    # --- orders ---

    def has_act_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("ingest.order_ranges")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_act_permission(request)

    def save_model(self, request: HttpRequest, obj: RangeOrder, form: Any, change: bool) -> None:
        by = request.user.get_username()
        order = orders.ask(**_asked(form.cleaned_data), asked_by=by, now=timezone.now())
        obj.__dict__.update(order.__dict__)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        if initial.get("kind") in (RangeOrder.Kind.REINGEST, RangeOrder.Kind.LOCATE):
            initial.setdefault("source", orders.STREAM)
        return initial

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"title": "Order over slots", **(extra_context or {})}
        return super().add_view(request, form_url, context)  # type: ignore[no-any-return]

    def response_add(
        self, request: HttpRequest, obj: RangeOrder, post_url_continue: Any = None
    ) -> HttpResponse:
        messages.success(
            request, "The order is created: the worker starts within seconds, and this page"
            " shows its progress."
        )  # fmt: skip
        return HttpResponseRedirect(reverse("admin:ingest_rangeorder_change", args=[obj.pk]))

    @admin.action(description="Cancel", permissions=["act"])
    @transaction.atomic
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[RangeOrder]) -> None:
        cancelled = 0
        for order in queryset.filter(state__in=OPEN):
            if orders.cancel([order.pk], now=timezone.now()):
                cancelled += 1
                audit.record(request, "cancelled", order)
        orders_are = counted(cancelled, "order is", "orders are")
        messages.success(request, f"{orders_are} cancelled; completed steps stay.")

    @admin.action(description="Open gaps", permissions=["act"])
    @transaction.atomic
    def open_gaps(self, request: HttpRequest, queryset: QuerySet[RangeOrder]) -> None:
        """Opens gaps of the slots that the orders found missing."""
        for order in queryset:
            slots = orders.open_gaps_of(order, now=timezone.now())
            audit.record(request, "opened gaps", order, text=counted(slots, "slot"))
            slots_are = counted(slots, "slot is in an open gap", "slots are in open gaps")
            messages.success(
                request,
                f"{slots_are} now, except those stored meanwhile: gaps are filled automatically.",
            )

    # --- what is shown ---

    def beside_fields(self, request: HttpRequest, row: RangeOrder) -> dict[str, Any]:
        order = row
        ends = order.found.aggregate(first=Min("slot"), last=Max("slot"))
        add = reverse("admin:ingest_rangeorder_add")
        stored = f"{add}?kind={order.kind}&first_slot={order.first_slot}&last_slot="
        return {
            "order": order,
            "is_search": order.kind == RangeOrder.Kind.LOCATE,
            "is_open": order.state in OPEN,
            "may_order": self.has_act_permission(request),
            "findings": [(each, FINDINGS[each.what]) for each in order.found.all()[:_LISTED]],
            "listed": grouped(_LISTED),
            "more": order.findings > _LISTED,
            "total": grouped(order.findings),
            "has_missing": order.found.filter(
                what__in=[what for what, text in FINDINGS.items() if text.is_missing]
            ).exists(),
            "reingest": ""
            if ends["first"] is None
            else f"{add}?kind=reingest&first_slot={ends['first']}&last_slot={ends['last']}",
            "again": f"{stored}{order.last_slot}&source={order.source}",
        }

    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
    what = column("what", lambda row: str(row.get_kind_display()), "kind")

    @admin.display(description="of")
    def areas(self, order: RangeOrder) -> str:
        named = [("ledger", order.ledger), ("archive", order.archive)]
        return ", ".join(name for name, chosen in named if chosen)

    @admin.display(description="source")
    def asked_of(self, order: RangeOrder) -> str:
        named = {"": "stored data", orders.STREAM: "the stream's replay"}
        return named.get(order.source, order.source)

    standing = column(
        "state",
        lambda row: (
            badge("done", "warning", f"{row.findings:,} findings")
            if row.state == RangeOrder.State.DONE and row.findings
            else state_badge(row.state, row.failure)
        ),
        "state",
    )

    @admin.display(description="progress")
    def progress(self, order: RangeOrder) -> SafeString:
        slots = order.last_slot - order.first_slot + 1
        return progress(min(slots, order.next_slot - order.first_slot), slots, "slots")

    why = column("failure", lambda row: row.failure or "none")
    sound_slots = column("correct slots", lambda row: grouped(row.sound))

    stored_slots = column("slots stored", lambda row: _hinted(row.stored, "They were missing"))
    changed_slots = column(
        "slots replaced",
        lambda row: _hinted(row.changed, "The stored data differed or was incomplete"),
    )
    verified = column("transactions verified", lambda row: grouped(row.transactions))
    found = column(
        "findings",
        lambda row: (
            badge("0", "good" if row.state == RangeOrder.State.DONE else "quiet")
            if not row.findings
            else badge(grouped(row.findings), "warning")
        ),
    )
    asked = column(
        "asked", lambda row: format_html("{} by {}", ago(row.asked_at), row.asked_by), "asked_at"
    )
    begun = column("begun", lambda row: ago(row.started_at, never="not yet"))
    ended = column("ended", lambda row: ago(row.finished_at, never="not yet"))


def _asked(values: dict[str, Any]) -> dict[str, Any]:
    """What the form asks for, as `orders` takes it."""
    window = SlotRange(values["first_slot"], values["last_slot"])
    chosen = {name: values[name] for name in ("kind", "archive", "ledger", "source")}
    return {**chosen, "window": window}


def _hinted(number: int, hint: str) -> SafeString:
    return format_html('<span title="{}">{}</span>', hint, grouped(number))
