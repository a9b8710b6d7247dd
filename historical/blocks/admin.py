"""The ledger's blocks."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from historical.coverage.services import overview
from historical.coverage.store import overview as store
from historical.models import Block
from staff.columns import column
from staff.formatting import ago, counted, grouped, in_full, link, moment, shortened, size_of
from staff.parsing import signature_in, slot_in
from staff.read_only import LongListAdmin

_VERSIONS = {-1: "legacy only", 0: "up to version 0", 1: "up to version 1"}


@admin.register(Block)
class BlockAdmin(LongListAdmin):
    list_display = ("slot_number", "short_hash", "time", "transactions", "failed", "stored")
    search_fields = ("slot",)  # by `condition`
    search_help_text = "A slot or a transaction's signature"
    fieldsets = (
        (None, {"fields": ("slot_number", "hash", "time", "height", "neighbours")}),
        ("Content", {"fields": ("transactions", "outcomes", "versions", "stored", "recorded")}),
        ("Chain", {"fields": ("parent", "previous_hash")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Block]:
        return store.blocks_without_bodies(super().get_queryset(request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        if changes.query and not changes.result_list:
            changes.why_nothing = _why_nothing(changes.query)
        return changes

    def condition(self, text: str) -> Q | None:
        slot, signature = slot_in(text), signature_in(text)
        if slot is None and signature is not None:
            slot = overview.slot_of(bytes(signature))
        return None if slot is None else Q(slot=slot)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if slot_in(object_id) is None else super().get_object(request, object_id)

    slot_number = column("slot", lambda row: str(row.slot), "slot")
    short_hash = column("blockhash", lambda row: shortened(row.blockhash))
    hash = column("blockhash", lambda row: in_full(row.blockhash))

    previous_hash = column("previous blockhash", lambda row: in_full(row.previous_blockhash))

    @admin.display(description="time")
    def time(self, block: Block) -> str:
        at = overview.moment_of(block.block_time)
        return "unknown" if at is None else moment(at, seconds=True)

    height = column("block height", lambda row: grouped(row.block_height, "unknown"))
    transactions = column("transactions", lambda row: grouped(row.transaction_count))

    @admin.display(description="failed")
    def failed(self, block: Block) -> str:
        if not block.failed_count:
            return "0"
        share = 100 * block.failed_count / max(1, block.transaction_count)
        return f"{grouped(block.failed_count)} ({share:.0f}%)"

    @admin.display(description="failed")
    def outcomes(self, block: Block) -> str:
        unknown = overview.unknown_outcomes(block.slot, block.transaction_count)
        if unknown is None:
            return f"{self.failed(block)}; the sealed outcomes are damaged"
        if not unknown:
            return self.failed(block)
        whose = counted(unknown, "transaction")
        return f"{self.failed(block)}; the outcome of {whose} is unknown"

    versions = column(
        "transaction versions",
        lambda row: _VERSIONS.get(row.newest_version, str(row.newest_version)),
    )

    @admin.display(description="stored bytes")
    def stored(self, block: Block) -> SafeString:
        size: int = block.stored_bytes  # type: ignore[attr-defined]
        sealed = block.sealed_bytes is not None  # type: ignore[attr-defined]
        if sealed and not size:
            size = store.sealed_bytes(block.slot)
        state = ", sealed" if sealed else ""
        return format_html(
            '<span title="{} bytes{}">{}{}</span>', grouped(size), state, size_of(size), state
        )

    recorded = column("recorded", lambda row: ago(row.recorded_at))

    @admin.display(description="parent slot")
    def parent(self, block: Block) -> SafeString | str:
        skipped = block.slot - block.parent_slot - 1
        if skipped < 1:
            return str(block.parent_slot)
        return f"{block.parent_slot} ({counted(skipped, 'slot')} between skipped)"

    @admin.display(description="neighbours")
    def neighbours(self, block: Block) -> SafeString | str:
        below, above = store.neighbours(block.slot)
        links = (
            (link(f"{word} {slot}", "historical_block_change", slot),)
            for word, slot in (("previous", below), ("next", above))
            if slot is not None
        )
        return format_html_join(" · ", "{}", links) or "none"


def _why_nothing(asked: str) -> str:
    """What the ledger knows of what was looked for and not found."""
    slot = slot_in(asked)
    if slot is not None:
        return overview.why_no_block(slot)
    if signature_in(asked) is None:
        return "Neither a slot nor a signature: a slot is a number, a signature 87 or 88 letters."
    return "No stored transaction has this signature."
