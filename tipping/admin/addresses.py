"""Tip addresses: who fetched each, what it received, and its sweeps."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from access.admin.key_names import key_link, with_key_names
from staff.columns import column
from staff.filters import choice_filter, row_filter
from staff.formatting import ago, grouped, in_full, lamports, link, shortened
from staff.parsing import pubkey_in
from staff.read_only import LongListAdmin
from tipping.models import TipAddress, TipBatch, TipEntry
from tipping.services import ledger

_SHOWN = 50

IssuedFilter = choice_filter(
    "issued",
    "issued",
    {
        "yes": ("issued", Q(issued_at__isnull=False)),
        "no": ("not issued", Q(issued_at__isnull=True)),
    },
)


@admin.register(TipAddress)
class TipAddressAdmin(LongListAdmin):
    list_display = ("name", "of_batch", "issued", "by_key", "expires", "holds")
    list_filter = (IssuedFilter, row_filter("batch", "batch", TipBatch, missing="unknown"))
    ordering = ("-batch", "-position")
    search_fields = ("pubkey",)  # by `condition`
    search_help_text = "A whole address"
    change_form_outer_after_template = "admin/tipping/tipaddress/moves.html"
    fields = (
        "whole_name",
        "of_batch",
        "place",
        "issued",
        "at_edge",
        "by_key",
        "expires",
        "holds",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipAddress]:
        queryset: QuerySet[TipAddress] = super().get_queryset(request)
        return with_key_names(queryset).select_related("batch", "edge")

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        pubkey = pubkey_in(object_id)
        return None if pubkey is None else self.get_queryset(request).filter(pk=pubkey).first()

    def complete_rows(self, rows: Any) -> None:
        held = ledger.balance_of([bytes(address.pubkey) for address in rows])
        for address in rows:
            address.held = held[bytes(address.pubkey)]

    def condition(self, text: str) -> Q | None:
        pubkey = pubkey_in(text)
        return None if pubkey is None else Q(pk=pubkey)

    def beside_fields(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        entries = list(TipEntry.objects.filter(pubkey=row.pubkey)[: _SHOWN + 1])
        return {
            "entries": entries[:_SHOWN],
            "more_entries": len(entries) > _SHOWN,
            "parts": row.parts.select_related("sweep").order_by("-pk")[:_SHOWN],
        }

    # --- what is shown ---

    name = column("address", lambda row: shortened(row.pubkey))
    whole_name = column("address", lambda row: in_full(row.pubkey))
    of_batch = column("batch", lambda row: link(row.batch, "tipping_tipbatch_change", row.batch.pk))
    place = column("place in the batch", lambda row: grouped(row.position))
    issued = column("issued", lambda row: ago(row.issued_at, never="not yet"))
    at_edge = column("by the edge", lambda row: "-" if row.edge is None else row.edge.name)
    by_key = column(
        "to the key",
        lambda row: (
            "a caller without a key"
            if row.issued_at is not None and row.key_id is None
            else key_link(row)
        ),
    )
    expires = column("expires", lambda row: ago(row.batch.expires_at, never="-"))

    @admin.display(description="holds (lamports)")
    def holds(self, address: Any) -> SafeString | str:
        if not hasattr(address, "held"):
            self.complete_rows([address])
        return lamports(address.held)
