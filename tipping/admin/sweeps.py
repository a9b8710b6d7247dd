"""Sweeps to the treasury, each with the addresses that it empties."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from solders.signature import Signature
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin
from staff.formatting import ago, badge, grouped, in_full, shortened
from tipping.admin.addresses import SWEEP_HUES
from tipping.models import TipSweep, TipSweepPart


@admin.register(TipSweep)
class TipSweepAdmin(ReadOnlyAdmin):
    list_display = ("name", "standing", "moved", "taken", "size", "landed_in", "planned", "why")
    list_display_links = ("name",)
    list_filter = ("state",)
    list_per_page = 50
    ordering = ("-pk",)
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("signature",)  # looked for in get_search_results
    search_help_text = "A whole signature"
    change_form_outer_after_template = "admin/tipping/tipsweep/parts.html"
    readonly_fields = (
        *("whole_name", "standing", "why", "moved", "taken", "goes_to", "landed_in"),
        *("planned", "settled", "submission"),
    )
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipSweep]:
        queryset: QuerySet[TipSweep] = super().get_queryset(request)
        return queryset.defer("wire")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        parts = TipSweepPart.objects.filter(sweep__in=[row.pk for row in changes.result_list])
        counts = dict(parts.order_by().values_list("sweep").annotate(Count("pk")))
        for row in changes.result_list:
            row.part_count = counts.get(row.pk, 0)
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TipSweep], search_term: str
    ) -> tuple[QuerySet[TipSweep], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        try:
            return queryset.filter(signature=Signature.from_string(text)), False
        except ValueError:
            return queryset.none(), False

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        sweep = self.get_object(request, object_id)
        parts = TipSweepPart.objects.filter(sweep=sweep).order_by("pk")
        rows = [
            {
                "pubkey": str(part.address_id),
                "lamports": grouped(part.lamports),
                "pays": number == 0,
            }
            for number, part in enumerate(parts.select_related("address") if sweep else ())
        ]
        return {"parts": rows}

    # --- what is shown ---

    @admin.display(description="transaction")
    def name(self, sweep: TipSweep) -> SafeString:
        return shortened(str(sweep.signature))

    @admin.display(description="signature")
    def whole_name(self, sweep: TipSweep) -> SafeString:
        return in_full(sweep.signature)

    @admin.display(description="state", ordering="state")
    def standing(self, sweep: TipSweep) -> SafeString:
        return badge(sweep.state, SWEEP_HUES[TipSweep.State(sweep.state)], sweep.reason)

    @admin.display(description="reason")
    def why(self, sweep: TipSweep) -> str:
        return sweep.reason or "-"

    @admin.display(description="lamports")
    def moved(self, sweep: TipSweep) -> str:
        return grouped(sweep.lamports)

    @admin.display(description="of it the fee")
    def taken(self, sweep: TipSweep) -> str:
        return grouped(sweep.fee)

    @admin.display(description="addresses")
    def size(self, sweep: Any) -> str:
        return grouped(sweep.part_count)

    @admin.display(description="to the treasury")
    def goes_to(self, sweep: TipSweep) -> SafeString:
        return in_full(sweep.treasury)

    @admin.display(description="slot")
    def landed_in(self, sweep: TipSweep) -> str:
        return "-" if sweep.slot is None else str(sweep.slot)

    @admin.display(description="planned")
    def planned(self, sweep: TipSweep) -> SafeString | str:
        return ago(sweep.planned_at)

    @admin.display(description="settled")
    def settled(self, sweep: TipSweep) -> SafeString | str:
        return ago(sweep.settled_at, never="not yet")

    @admin.display(description="its way")
    def submission(self, sweep: TipSweep) -> SafeString:
        link = reverse("admin:priority_submission_changelist")
        return format_html(
            '<a class="tm-link" href="{}?q={}">show the submission</a>', link, sweep.signature
        )
