"""Batches of tip addresses, from prepared to swept."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from staff import audit
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, counted, in_units, link
from staff.parsing import id_in
from staff.read_only import ReadOnlyAdmin
from staff.states import state_badge
from tipping.models import TipAddress, TipBatch, TipSweepPart
from tipping.services import sweeping

_WAITING = Q(state=TipBatch.State.CLOSED, swept_at__isnull=True)

SweptFilter = choice_filter(
    "swept",
    "swept",
    {
        "waiting": ("expired, not swept", lambda: _WAITING & Q(expires_at__lte=timezone.now())),
        "swept": ("swept", Q(swept_at__isnull=False)),
        "noted": ("with a note", ~Q(sweep_note="")),
    },
)


@admin.register(TipBatch)
class TipBatchAdmin(ReadOnlyAdmin):
    list_display = ("name", "ttl", "standing", "issued", "opened", "expires", "swept", "note")
    list_filter = ("state", "ttl_class", SweptFilter)
    ordering = ("-number",)
    search_fields = ("number",)  # by `condition`
    search_help_text = "A batch's number"
    actions = ["sweep_now"]
    fieldsets = (
        (None, {"fields": ("name", "ttl", "standing", "issued", "links")}),
        ("Times", {"fields": ("prepared", "opened", "window_ends", "expires", "closed")}),
        ("Sweeping", {"fields": ("swept", "read", "note", "swept_in")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipBatch]:
        queryset: QuerySet[TipBatch] = super().get_queryset(request)
        return queryset.select_related("ttl_class")

    def complete_rows(self, rows: Any) -> None:
        issued = TipAddress.objects.filter(batch__in=[each.pk for each in rows])
        issued = issued.filter(issued_at__isnull=False).order_by()
        counts = dict(issued.values_list("batch").annotate(Count("pk")))
        for batch in rows:
            batch.issued_count = counts.get(batch.pk, 0)

    def condition(self, text: str) -> Q | None:
        number = id_in(text.replace(",", ""))
        return None if number is None else Q(number=number)

    # --- actions ---

    @admin.action(description="Sweep now", permissions=["act"])
    def sweep_now(self, request: HttpRequest, queryset: QuerySet[TipBatch]) -> None:
        closed = list(queryset.filter(state=TipBatch.State.CLOSED))
        with transaction.atomic():
            count = sweeping.recheck([batch.pk for batch in closed])
            for batch in closed:
                audit.record(request, "ordered the sweep of", batch)
        batches = counted(count, "closed batch", "closed batches")
        messages.success(
            request,
            f"The balances of {batches} will be read and swept within seconds; addresses that are"
            " still valid are swept after they expire.",
        )

    # --- what is shown ---

    name = column("batch", lambda row: str(row.number), "number")
    ttl = column("class", lambda row: in_units(row.ttl_seconds), "ttl_seconds")
    standing = column("state", lambda row: state_badge(row.state), "state")

    @admin.display(description="issued")
    def issued(self, batch: Any) -> str:
        if not hasattr(batch, "issued_count"):
            self.complete_rows([batch])
        return f"{batch.issued_count:,} of {batch.size:,}"

    links = column(
        "its addresses",
        lambda row: link("show the addresses", "tipping_tipaddress_changelist", batch=row.pk),
    )
    prepared = column("prepared", lambda row: ago(row.prepared_at))
    opened = column("opened", lambda row: ago(row.opened_at, never="-"), "opened_at")
    window_ends = column("window ends", lambda row: ago(row.window_ends_at, never="-"))
    expires = column("expires", lambda row: ago(row.expires_at, never="-"), "expires_at")
    closed = column("closed", lambda row: ago(row.closed_at, never="-"))

    @admin.display(description="swept", ordering="swept_at")
    def swept(self, batch: TipBatch) -> SafeString | str:
        now = timezone.now()
        if batch.swept_at is not None:
            return ago(batch.swept_at, now)
        if batch.expires_at is None or batch.expires_at > now:
            return "-"
        return badge("waiting", "warning", "expired, and not swept yet")

    note = column("note", lambda row: row.sweep_note or "-")
    read = column(
        "balances read", lambda row: ago(row.balances_read_at, never="not since something changed")
    )

    @admin.display(description="sweeps")
    def swept_in(self, batch: TipBatch) -> str:
        parts = TipSweepPart.objects.filter(address__batch=batch)
        sweeps = parts.values("sweep").distinct().count()
        waiting = parts.filter(is_open=True).count()
        text = f"{sweeps:,} sweep{'s'[: sweeps != 1]} with {parts.count():,} of its addresses"
        return f"{text}; {waiting:,} not settled yet" if waiting else text
