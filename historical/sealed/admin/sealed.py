"""Sealed ranges of the ledger: read-only."""

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from historical.models import SealedRange
from historical.sealed.store import range_list
from sealed.admin import SealedAdmin, bytes_of
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, grouped

# As many as a page shows.
_LISTED = 20
StateFilter = choice_filter(
    "state",
    "state",
    {
        "sealing": ("being sealed", Q(finished_at__isnull=True)),
        "sealed": ("sealed", Q(finished_at__isnull=False)),
    },
)


def _a_transaction(row: SealedRange) -> str:
    return f"{row.packed_bytes / row.transactions:.1f}" if row.transactions else "-"


@admin.register(SealedRange)
class SealedRangeAdmin(SealedAdmin):
    list_display = (
        "slots",
        "status",
        "number",
        "sealed_transactions",
        "packed",
        "a_transaction",
        "dictionary_size",
        "left",
        "when",
    )
    dictionaries = ("dictionary", "keys")
    list_filter = (StateFilter,)
    fieldsets = (
        (None, {"fields": ("slots", "status", "begun", "when")}),
        (
            "Content",
            {"fields": ("number", "sealed_transactions", "texts", "packed", "a_transaction")},
        ),
        ("Read by", {"fields": ("dictionary_size", "index_runs", "to_index", "left")}),
    )
    why_nothing = (
        "A range of LEDGER_SEAL_SLOTS slots is sealed once the newest slot is above it. The worker"
        " does it."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SealedRange]:
        return range_list.with_runs(super().get_queryset(request))

    @admin.display(description="state", ordering="finished_at")
    def status(self, row: SealedRange) -> SafeString:
        if row.finished_at is None:
            return badge("being sealed", "warning", "Blocks are sealed from the lowest one upwards")
        return badge("sealed", "good", "Its indexes are merged into one run each")

    number = column("blocks", lambda row: grouped(row.blocks), "blocks")
    sealed_transactions = column(
        "transactions", lambda row: grouped(row.transactions), "transactions"
    )
    texts = column("texts", lambda row: bytes_of(row.text_bytes), "text_bytes")
    packed = column("texts, packed", lambda row: bytes_of(row.packed_bytes), "packed_bytes")
    a_transaction = column("bytes a transaction", _a_transaction)
    index_runs = column("runs of indexes", lambda row: grouped(row.runs))
    when = column("finished", lambda row: ago(row.finished_at, never="not yet"), "finished_at")
    begun = column("begun", lambda row: ago(row.started_at))

    @admin.display(description="not sealable")
    def left(self, row: SealedRange) -> SafeString | str:
        if not row.unsealable:
            return "none"
        listed = ", ".join(map(str, row.unsealable[:_LISTED]))
        hint = f"Blocks that cannot be read completely: {listed}. Re-ingest these slots"
        return badge(grouped(len(row.unsealable)), "bad", hint)

    @admin.display(description="segments to be indexed")
    def to_index(self, row: SealedRange) -> str:
        return grouped(len(row.unindexed)) if row.unindexed else "none"
