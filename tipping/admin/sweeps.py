"""Sweeps to the treasury, with the addresses of each."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from staff.columns import column
from staff.formatting import ago, grouped, in_full, lamports, link, shortened
from staff.parsing import signature_in
from staff.read_only import LongListAdmin
from staff.states import state_badge
from tipping.models import TipSweep, TipSweepPart


@admin.register(TipSweep)
class TipSweepAdmin(LongListAdmin):
    list_display = ("name", "standing", "moved", "taken", "size", "landed_in", "planned", "why")
    list_filter = ("state",)
    ordering = ("-pk",)
    search_fields = ("signature",)  # by `condition`
    search_help_text = "A whole signature"
    change_form_outer_after_template = "admin/tipping/tipsweep/parts.html"
    fields = (
        "whole_name",
        "standing",
        "why",
        "moved",
        "taken",
        "goes_to",
        "landed_in",
        "planned",
        "settled",
        "submission",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipSweep]:
        queryset: QuerySet[TipSweep] = super().get_queryset(request)
        return queryset.defer("wire")

    def complete_rows(self, rows: Any) -> None:
        parts = TipSweepPart.objects.filter(sweep__in=[row.pk for row in rows])
        counts = dict(parts.order_by().values_list("sweep").annotate(Count("pk")))
        for row in rows:
            row.part_count = counts.get(row.pk, 0)

    def condition(self, text: str) -> Q | None:
        signature = signature_in(text)
        return None if signature is None else Q(signature=signature)

    def beside_fields(self, request: HttpRequest, row: TipSweep) -> dict[str, Any]:
        parts = TipSweepPart.objects.filter(sweep=row).order_by("pk").select_related("address")
        return {"parts": parts}

    # --- what is shown ---

    name = column("transaction", lambda row: shortened(row.signature))
    whole_name = column("signature", lambda row: in_full(row.signature))
    standing = column("state", lambda row: state_badge(row.state, row.reason), "state")
    why = column("reason", lambda row: row.reason or "-")
    moved = column("lamports", lambda row: lamports(row.lamports))
    taken = column("of it the fee", lambda row: lamports(row.fee))
    size = column("addresses", lambda row: grouped(row.part_count))
    goes_to = column("to the treasury", lambda row: in_full(row.treasury))
    landed_in = column("slot", lambda row: "-" if row.slot is None else str(row.slot))
    planned = column("planned", lambda row: ago(row.planned_at))
    settled = column("settled", lambda row: ago(row.settled_at, never="not yet"))

    submission = column(
        "submission",
        lambda row: link("show the submission", "priority_submission_changelist", q=row.signature),
    )
