"""Batches of tip addresses, from prepared to swept."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.read_only import ReadOnlyAdmin
from staff import audit
from staff.formatting import ago, badge
from tipping.models import TipAddress, TipBatch, TipSweepPart
from tipping.services import sweeping

_HUES = {
    TipBatch.State.PREPARED: "quiet",
    TipBatch.State.OPEN: "good",
    TipBatch.State.CLOSED: "quiet",
}


class SweptFilter(admin.SimpleListFilter):
    title = "swept"
    parameter_name = "swept"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("waiting", "expired, not swept"), ("swept", "swept"), ("noted", "with a note")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "swept":
            return queryset.filter(swept_at__isnull=False)
        if self.value() == "noted":
            return queryset.exclude(sweep_note="")
        if self.value() == "waiting":
            return queryset.filter(
                state=TipBatch.State.CLOSED, swept_at__isnull=True, expires_at__lte=timezone.now()
            )
        return queryset


@admin.register(TipBatch)
class TipBatchAdmin(ReadOnlyAdmin):
    list_display = ("name", "ttl", "standing", "issued", "opened", "expires", "swept", "told")
    list_display_links = ("name",)
    list_filter = ("state", "ttl_class", SweptFilter)
    list_per_page = 50
    ordering = ("-number",)
    search_fields = ("number",)  # looked for in get_search_results
    search_help_text = "A batch's number"
    actions = ["sweep_now"]
    fieldsets = (
        (None, {"fields": ("name", "ttl", "standing", "issued", "links")}),
        ("Times", {"fields": ("prepared", "opened", "window_ends", "expires", "closed")}),
        ("Sweeping", {"fields": ("swept", "read", "told", "swept_in")}),
    )
    readonly_fields = tuple(name for _, fields in fieldsets for name in fields["fields"])

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipBatch]:
        queryset: QuerySet[TipBatch] = super().get_queryset(request)
        return queryset.select_related("ttl_class")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        counts = _issued_of([batch.pk for batch in changes.result_list])
        for batch in changes.result_list:
            batch.issued_count = counts.get(batch.pk, 0)
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TipBatch], search_term: str
    ) -> tuple[QuerySet[TipBatch], bool]:
        text = search_term.strip().replace(",", "")
        if not text:
            return queryset, False
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            return queryset.none(), False
        return queryset.filter(number=int(text)), False

    # --- orders ---

    def has_sweep_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("tipping.change_tipbatch")

    @admin.action(description="Sweep now", permissions=["sweep"])
    def sweep_now(self, request: HttpRequest, queryset: QuerySet[TipBatch]) -> None:
        closed = list(queryset.filter(state=TipBatch.State.CLOSED))
        with transaction.atomic():
            count = sweeping.look_again([batch.pk for batch in closed])
            for batch in closed:
                audit.record(request, "ordered the sweep of", batch)
        noun = "closed batch is" if count == 1 else "closed batches are"
        messages.success(
            request,
            f"The balances of {count} {noun} read within seconds, and what they hold is swept;"
            " addresses that are still good are left until they expired.",
        )

    # --- what is shown ---

    @admin.display(description="batch", ordering="number")
    def name(self, batch: TipBatch) -> str:
        return str(batch.number)

    @admin.display(description="class", ordering="ttl_seconds")
    def ttl(self, batch: TipBatch) -> str:
        return f"{batch.ttl_seconds:,} s"

    @admin.display(description="state", ordering="state")
    def standing(self, batch: TipBatch) -> SafeString:
        return badge(batch.state, _HUES[TipBatch.State(batch.state)])

    @admin.display(description="issued")
    def issued(self, batch: Any) -> str:
        if not hasattr(batch, "issued_count"):
            batch.issued_count = _issued_of([batch.pk]).get(batch.pk, 0)
        return f"{batch.issued_count:,} of {batch.size:,}"

    @admin.display(description="its addresses")
    def links(self, batch: TipBatch) -> SafeString:
        link = reverse("admin:tipping_tipaddress_changelist")
        return format_html(
            '<a class="tm-link" href="{}?batch={}">show the addresses</a>', link, batch.pk
        )

    @admin.display(description="prepared")
    def prepared(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.prepared_at)

    @admin.display(description="opened", ordering="opened_at")
    def opened(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.opened_at, never="-")

    @admin.display(description="window ends")
    def window_ends(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.window_ends_at, never="-")

    @admin.display(description="expires", ordering="expires_at")
    def expires(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.expires_at, never="-")

    @admin.display(description="closed")
    def closed(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.closed_at, never="-")

    @admin.display(description="swept", ordering="swept_at")
    def swept(self, batch: TipBatch) -> SafeString | str:
        now = timezone.now()
        if batch.swept_at is not None:
            return ago(batch.swept_at, now)
        if batch.expires_at is None or batch.expires_at > now:
            return "-"
        return badge("waiting", "warning", "expired, and not swept yet")

    @admin.display(description="note")
    def told(self, batch: TipBatch) -> str:
        return batch.sweep_note or "-"

    @admin.display(description="balances were read")
    def read(self, batch: TipBatch) -> SafeString | str:
        return ago(batch.balances_read_at, never="not since something changed")

    @admin.display(description="sweeps")
    def swept_in(self, batch: TipBatch) -> str:
        parts = TipSweepPart.objects.filter(address__batch=batch)
        sweeps = parts.values("sweep").distinct().count()
        waiting = parts.filter(is_open=True).count()
        told = f"{sweeps:,} sweep{'s'[: sweeps != 1]} with {parts.count():,} of its addresses"
        return f"{told}; the fate of {waiting:,} is not known yet" if waiting else told


def _issued_of(batches: list[int]) -> dict[int, int]:
    rows = TipAddress.objects.filter(batch__in=batches, issued_at__isnull=False).order_by()
    return dict(rows.values_list("batch").annotate(Count("pk")))
