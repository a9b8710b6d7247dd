"""Tip addresses: who got each, what it received, and where that went."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey
from unfold.paginator import InfinitePaginator

from access.admin.key_names import key_link, with_key_names
from access.admin.read_only import ReadOnlyAdmin
from staff.formatting import ago, badge, grouped, in_full, shortened
from tipping.models import TipAddress, TipBatch, TipEntry, TipSweep
from tipping.services import ledger

_SHOWN = 50
SWEEP_HUES = {
    TipSweep.State.PLANNED: "warning",
    TipSweep.State.LANDED: "good",
    TipSweep.State.FAILED: "bad",
    TipSweep.State.EXPIRED: "quiet",
}


def pubkey_in(text: str) -> Pubkey | None:
    """The pubkey that was typed, None for what is none."""
    try:
        return Pubkey.from_string(text.strip())
    except ValueError:
        return None


class BatchFilter(admin.SimpleListFilter):
    """One batch's addresses: its page leads here."""

    title = "batch"
    parameter_name = "batch"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = request.GET.get("batch", "")
        if not chosen.isascii() or not chosen.isdecimal() or len(chosen) > 18:
            return []
        batch = TipBatch.objects.filter(pk=chosen).first()
        return [(chosen, "unknown" if batch is None else str(batch))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(batch=self.value())


class IssuedFilter(admin.SimpleListFilter):
    title = "issued"
    parameter_name = "issued"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "issued"), ("no", "not issued")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(issued_at__isnull=self.value() == "no")


@admin.register(TipAddress)
class TipAddressAdmin(ReadOnlyAdmin):
    list_display = ("name", "of_batch", "issued", "by_key", "expires", "holds")
    list_display_links = ("name",)
    list_filter = (IssuedFilter, BatchFilter)
    list_per_page = 50
    ordering = ("-batch", "-position")
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("pubkey",)  # looked for in get_search_results
    search_help_text = "A whole address"
    change_form_outer_after_template = "admin/tipping/tipaddress/moves.html"
    readonly_fields = ("whole_name", "of_batch", "place", "issued", "at_edge", "by_key", "expires")
    fieldsets = ((None, {"fields": (*readonly_fields, "holds")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "holds")

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipAddress]:
        queryset: QuerySet[TipAddress] = super().get_queryset(request)
        return with_key_names(queryset).select_related("batch", "edge")

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        pubkey = pubkey_in(object_id)
        return None if pubkey is None else self.get_queryset(request).filter(pk=pubkey).first()

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        held = ledger.balance_of([bytes(address.pubkey) for address in changes.result_list])
        for address in changes.result_list:
            address.held = held[bytes(address.pubkey)]
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TipAddress], search_term: str
    ) -> tuple[QuerySet[TipAddress], bool]:
        if not search_term.strip():
            return queryset, False
        pubkey = pubkey_in(search_term)
        return (queryset.none() if pubkey is None else queryset.filter(pk=pubkey)), False

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        address = self.get_object(request, object_id)
        return {} if address is None else _moves(address)

    # --- what is shown ---

    @admin.display(description="address")
    def name(self, address: TipAddress) -> SafeString:
        return shortened(str(address.pubkey))

    @admin.display(description="address")
    def whole_name(self, address: TipAddress) -> SafeString:
        return in_full(address.pubkey)

    @admin.display(description="batch")
    def of_batch(self, address: TipAddress) -> SafeString:
        link = reverse("admin:tipping_tipbatch_change", args=[address.batch.pk])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, address.batch)

    @admin.display(description="place in the batch")
    def place(self, address: TipAddress) -> str:
        return grouped(address.position)

    @admin.display(description="issued")
    def issued(self, address: TipAddress) -> SafeString | str:
        return ago(address.issued_at, never="not yet")

    @admin.display(description="by the edge")
    def at_edge(self, address: TipAddress) -> str:
        return "-" if address.edge is None else address.edge.name

    @admin.display(description="to the key")
    def by_key(self, address: TipAddress) -> SafeString | str:
        if address.issued_at is not None and address.key_id is None:
            return "somebody without a key"
        return key_link(address)

    @admin.display(description="expires")
    def expires(self, address: TipAddress) -> SafeString | str:
        return ago(address.batch.expires_at, never="-")

    @admin.display(description="holds (lamports)")
    def holds(self, address: Any) -> str:
        if not hasattr(address, "held"):
            key = bytes(address.pubkey)
            address.held = ledger.balance_of([key])[key]
        return grouped(address.held)


def _moves(address: TipAddress) -> dict[str, Any]:
    entries = list(TipEntry.objects.filter(pubkey=address.pubkey)[: _SHOWN + 1])
    parts = address.parts.select_related("sweep").order_by("-pk")[:_SHOWN]
    return {
        "entries": [
            {
                "row": entry,
                "signature": shortened(str(entry.signature)),
                "lamports": f"{entry.lamports:+,}",
            }
            for entry in entries[:_SHOWN]
        ],
        "more_entries": len(entries) > _SHOWN,
        "parts": [
            {
                "sweep": part.sweep,
                "signature": shortened(str(part.sweep.signature)),
                "lamports": grouped(part.lamports),
                "state": badge(part.sweep.state, SWEEP_HUES[TipSweep.State(part.sweep.state)]),
            }
            for part in parts
        ],
    }
