"""Orders over ranges of slots: given, watched, called off."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max, Min, QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from access.admin.read_only import ReadOnlyAdmin, slot_in
from chain.slot_ranges import SlotRange
from ingest.errors import OrderRefused
from ingest.finding_words import FINDINGS
from ingest.models import RangeOrder
from ingest.services import orders
from staff import audit
from staff.formatting import ago, badge, grouped

State = RangeOrder.State
_HUES = {
    State.QUEUED: "quiet",
    State.RUNNING: "warning",
    State.DONE: "good",
    State.CANCELLED: "quiet",
    State.FAILED: "bad",
}
_LISTED = 200
_KINDS = [("verify", "Verify"), ("reingest", "Re-ingest")]


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
        help_text="Verify looks whether what is stored holds together, and changes nothing."
        " Re-ingest fetches the slots anew, and stores what is lacking or differs.",
    )
    first_slot = SlotField(label="From slot")
    last_slot = SlotField(
        label="To slot",
        help_text=f"Both included. At most {orders.MOST_READ:,} slots where only what is stored is"
        f" read, {orders.MOST_FETCHED:,} where they are fetched.",
    )
    ledger = forms.BooleanField(
        label="Ledger", required=False, initial=True, widget=UnfoldBooleanSwitchWidget
    )
    archive = forms.BooleanField(
        label="Archive",
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Account writes. No node has them: they are re-ingested from the stream's replay,"
        " as far back as its server keeps slots.",
    )
    source = forms.ChoiceField(
        label="Source",
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="Whom to ask. A verification without a source holds what is stored against"
        " itself: links, hashes, counts, and the ledger's transactions against the archive's"
        " writes.",
    )

    class Meta:
        model = RangeOrder
        fields = ("kind", "first_slot", "last_slot", "ledger", "archive", "source")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = [(name, f"Node {name} (getBlock)") for name in orders.source_names()]
        stream = (orders.STREAM, "The stream's replay")
        source: Any = self.fields["source"]
        source.choices = [("", "Nobody: what is stored, alone"), stream, *named]

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        if not self.errors:
            try:
                orders.check(
                    told["kind"],
                    SlotRange(told["first_slot"], told["last_slot"]),
                    archive=told["archive"],
                    ledger=told["ledger"],
                    source=told["source"],
                )
            except OrderRefused as refused:
                raise forms.ValidationError(str(refused)) from None
        return told

    def _post_clean(self) -> None:
        """`orders` has said in words what the database would refuse, and makes the row itself."""


@admin.register(RangeOrder)
class RangeOrderAdmin(ReadOnlyAdmin):
    list_display = ("slots", "what", "areas", "asked_of", "standing", "progress", "found", "asked")
    list_display_links = ("slots",)
    list_filter = ("kind", "state")
    list_per_page = 50
    ordering = ("-pk",)
    search_fields = ("first_slot",)  # looked for in get_search_results
    search_help_text = "A slot"
    actions = ["cancel_orders"]
    change_form_outer_after_template = "admin/ingest/rangeorder/findings.html"
    readonly_fields = (
        *("slots", "what", "areas", "asked_of", "standing", "progress", "why"),
        *("sound_slots", "stored_slots", "changed_slots", "found", "asked", "begun", "ended"),
    )

    def get_form(self, *_args: Any, **_kwargs: Any) -> Any:
        return OrderForm

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            fields = ("kind", ("first_slot", "last_slot"), "ledger", "archive", "source")
            return ((None, {"fields": fields}),)
        first = ("slots", "what", "areas", "asked_of", "standing", "progress", "why")
        return (
            (None, {"fields": first}),
            ("Result", {"fields": ("sound_slots", "stored_slots", "changed_slots", "found")}),
            ("Times", {"fields": ("asked", "begun", "ended")}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.readonly_fields

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/cancel/", view(self.cancel_this), name="ingest_rangeorder_cancel"),
            path("<int:pk>/gaps/", view(self.open_gaps), name="ingest_rangeorder_gaps"),
            *super().get_urls(),
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RangeOrder], search_term: str
    ) -> tuple[QuerySet[RangeOrder], bool]:
        if not search_term.strip():
            return queryset, False
        slot = slot_in(search_term.strip())
        if slot is None:
            return queryset.none(), False
        return queryset.filter(first_slot__lte=slot, last_slot__gte=slot), False

    # --- orders ---

    def has_order_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("ingest.order_ranges")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_order_permission(request)

    def save_model(self, request: HttpRequest, obj: RangeOrder, form: Any, change: bool) -> None:
        told = form.cleaned_data
        order = orders.ask(
            told["kind"],
            SlotRange(told["first_slot"], told["last_slot"]),
            archive=told["archive"],
            ledger=told["ledger"],
            source=told["source"],
            asked_by=request.user.get_username(),
            now=timezone.now(),
        )
        obj.__dict__.update(order.__dict__)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        told: dict[str, Any] = super().get_changeform_initial_data(request)
        if told.get("kind") == RangeOrder.Kind.REINGEST:
            told.setdefault("source", orders.STREAM)
        return told

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
            context = {**one_button, "title": "Order over slots", **(extra_context or {})}
            response: HttpResponse = super().add_view(request, form_url, context)
        except OrderRefused as refused:  # somebody else's came between the look and the order
            messages.error(request, str(refused))
            return HttpResponseRedirect(reverse("admin:ingest_rangeorder_changelist"))
        return response

    def response_add(
        self, request: HttpRequest, obj: RangeOrder, post_url_continue: Any = None
    ) -> HttpResponse:
        messages.success(
            request, "The order is taken: the worker begins within some seconds, and this page"
            " tells how far it is."
        )  # fmt: skip
        return HttpResponseRedirect(reverse("admin:ingest_rangeorder_change", args=[obj.pk]))

    @admin.action(description="Cancel", permissions=["order"])
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[RangeOrder]) -> None:
        self._cancel(request, list(queryset.filter(state__in=orders.OPEN)))

    def cancel_this(self, request: HttpRequest, pk: int) -> HttpResponse:
        if (refused := self._refused(request)) is not None:
            return refused
        self._cancel(request, list(RangeOrder.objects.filter(pk=pk, state__in=orders.OPEN)))
        return HttpResponseRedirect(reverse("admin:ingest_rangeorder_change", args=[pk]))

    @transaction.atomic
    def _cancel(self, request: HttpRequest, chosen: list[RangeOrder]) -> None:
        cancelled = 0
        for order in chosen:
            if orders.cancel([order.pk], now=timezone.now()):
                cancelled += 1
                audit.record(request, "cancelled", order)
        noun = "order is" if cancelled == 1 else "orders are"
        messages.success(request, f"{cancelled} {noun} cancelled; what was done stays.")

    def open_gaps(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Of the slots that the order found to be lacking."""
        if (refused := self._refused(request)) is not None:
            return refused
        order = RangeOrder.objects.filter(pk=pk).first()
        if order is None:
            return HttpResponseRedirect(reverse("admin:ingest_rangeorder_changelist"))
        with transaction.atomic():
            slots = orders.open_gaps_of(order, now=timezone.now())
            audit.record(request, "opened gaps", order, text=f"{slots} slots")
        noun = "slot is in an" if slots == 1 else "slots are in"
        messages.success(
            request, f"{slots} {noun} open gap{'s' if slots != 1 else ''} now, but for those that"
            " came meanwhile: they are filled by themselves."
        )  # fmt: skip
        return HttpResponseRedirect(reverse("admin:ingest_rangeorder_change", args=[pk]))

    def _refused(self, request: HttpRequest) -> HttpResponse | None:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_order_permission(request):
            raise PermissionDenied
        return None

    # --- what is shown ---

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        order = self.get_object(request, object_id)
        if order is None:
            return {}
        ends = order.found.aggregate(first=Min("slot"), last=Max("slot"))
        add = reverse("admin:ingest_rangeorder_add")
        stored = f"{add}?kind={order.kind}&first_slot={order.first_slot}&last_slot="
        return {
            "order": order,
            "is_open": order.state in orders.OPEN,
            "may_order": self.has_order_permission(request),
            "findings": [_finding(each) for each in order.found.all()[:_LISTED]],
            "listed": grouped(_LISTED),
            "more": order.findings > _LISTED,
            "total": grouped(order.findings),
            "lacking": order.found.filter(
                what__in=[what for what, told in FINDINGS.items() if told.lacking]
            ).exists(),
            "reingest": ""
            if ends["first"] is None
            else f"{add}?kind=reingest&first_slot={ends['first']}&last_slot={ends['last']}",
            "again": f"{stored}{order.last_slot}&source={order.source}",
        }

    @admin.display(description="slots", ordering="first_slot")
    def slots(self, order: RangeOrder) -> str:
        return f"{order.first_slot} to {order.last_slot}"

    @admin.display(description="what", ordering="kind")
    def what(self, order: RangeOrder) -> str:
        return str(order.get_kind_display())

    @admin.display(description="of")
    def areas(self, order: RangeOrder) -> str:
        named = [("ledger", order.ledger), ("archive", order.archive)]
        return ", ".join(name for name, chosen in named if chosen)

    @admin.display(description="source")
    def asked_of(self, order: RangeOrder) -> str:
        named = {"": "what is stored", orders.STREAM: "the stream's replay"}
        return named.get(order.source, order.source)

    @admin.display(description="state", ordering="state")
    def standing(self, order: RangeOrder) -> SafeString:
        if order.state == State.DONE and order.findings:
            return badge("done", "warning", f"{order.findings:,} findings")
        return badge(order.state, _HUES[State(order.state)], order.failure)

    @admin.display(description="progress")
    def progress(self, order: RangeOrder) -> SafeString:
        slots = order.last_slot - order.first_slot + 1
        done = min(slots, order.next_slot - order.first_slot)
        return format_html(
            '<span class="tm-progress"><progress max="{}" value="{}"></progress> {} of {} slots'
            "</span>",
            *(slots, done, grouped(done), grouped(slots)),
        )

    @admin.display(description="failure")
    def why(self, order: RangeOrder) -> str:
        return order.failure or "none"

    @admin.display(description="slots as they should be")
    def sound_slots(self, order: RangeOrder) -> str:
        return grouped(order.sound)

    @admin.display(description="slots that came")
    def stored_slots(self, order: RangeOrder) -> SafeString:
        hint = '<span title="They were lacking">{}</span>'
        return format_html(hint, grouped(order.stored))

    @admin.display(description="slots that were replaced")
    def changed_slots(self, order: RangeOrder) -> SafeString:
        hint = '<span title="What was stored said otherwise, or lacked something">{}</span>'
        return format_html(hint, grouped(order.changed))

    @admin.display(description="findings")
    def found(self, order: RangeOrder) -> SafeString:
        if not order.findings:
            return badge("0", "good" if order.state == State.DONE else "quiet")
        return badge(grouped(order.findings), "warning")

    @admin.display(description="asked", ordering="asked_at")
    def asked(self, order: RangeOrder) -> SafeString:
        return format_html("{} by {}", ago(order.asked_at), order.asked_by)

    @admin.display(description="begun")
    def begun(self, order: RangeOrder) -> SafeString | str:
        return ago(order.started_at, never="not yet")

    @admin.display(description="ended")
    def ended(self, order: RangeOrder) -> SafeString | str:
        return ago(order.finished_at, never="not yet")


def _finding(each: Any) -> dict[str, Any]:
    told = FINDINGS[each.what]
    page = reverse("admin:rewind_slottally_slots")
    return {
        "slot": each.slot,
        "link": f"{page}?slot={each.slot}",
        "area": each.area,
        "text": told.text,
        "detail": each.detail,
        "advice": told.advice,
    }
