"""The ledger's blocks."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from solders.signature import Signature
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin, slot_in
from chain.units import I64_MAX
from historical.models import Block
from historical.services import overview
from historical.store import overview as store
from staff.formatting import ago, grouped, size_of, utc

_VERSIONS = {-1: "legacy only", 0: "up to version 0", 1: "up to version 1"}


@admin.register(Block)
class BlockAdmin(ReadOnlyAdmin):
    list_display = ("slot_number", "short_hash", "time", "transactions", "failed", "stored")
    list_display_links = ("slot_number",)
    list_per_page = 50
    # A count of all blocks would scan an index of millions; the home page has the number.
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("slot",)  # looked for in get_search_results
    search_help_text = "A slot or a transaction's signature"
    fieldsets = (
        (None, {"fields": ("slot_number", "hash", "time", "height", "neighbours")}),
        ("Content", {"fields": ("transactions", "failed", "versions", "stored", "recorded")}),
        ("Chain", {"fields": ("parent", "previous_hash")}),
    )
    readonly_fields = (
        "slot_number",
        "hash",
        "time",
        "height",
        "neighbours",
        "transactions",
        "failed",
        "versions",
        "stored",
        "recorded",
        "parent",
        "previous_hash",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Block]:
        return store.blocks_without_bodies(super().get_queryset(request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        if changes.query and not changes.result_list:
            changes.why_nothing = _why_nothing(changes.query)
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Block], search_term: str
    ) -> tuple[QuerySet[Block], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        asked = slot_in(text)
        if asked is not None:
            return queryset.filter(slot=asked), False
        try:
            slot = overview.slot_of(bytes(Signature.from_string(text)))
        except ValueError:
            slot = None
        return (queryset.none() if slot is None else queryset.filter(slot=slot)), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        if not object_id.isdecimal() or int(object_id) > I64_MAX:
            return None
        return super().get_object(request, object_id, from_field)

    @admin.display(description="slot", ordering="slot")
    def slot_number(self, block: Block) -> str:
        return str(block.slot)

    @admin.display(description="blockhash")
    def short_hash(self, block: Block) -> SafeString:
        text = str(block.blockhash)
        return format_html('<code title="{}">{}…{}</code>', text, text[:8], text[-4:])

    @admin.display(description="blockhash")
    def hash(self, block: Block) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', block.blockhash)

    @admin.display(description="previous blockhash")
    def previous_hash(self, block: Block) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', block.previous_blockhash)

    @admin.display(description="time")
    def time(self, block: Block) -> str:
        at = overview.moment_of(block.block_time)
        return "not told" if at is None else utc(at, seconds=True)

    @admin.display(description="block height")
    def height(self, block: Block) -> str:
        return grouped(block.block_height, "not told")

    @admin.display(description="transactions")
    def transactions(self, block: Block) -> str:
        return grouped(block.transaction_count)

    @admin.display(description="failed")
    def failed(self, block: Block) -> str:
        if not block.failed_count:
            return "0"
        share = 100 * block.failed_count / max(1, block.transaction_count)
        return f"{grouped(block.failed_count)} ({share:.0f}%)"

    @admin.display(description="transaction versions")
    def versions(self, block: Block) -> str:
        return _VERSIONS.get(block.newest_version, str(block.newest_version))

    @admin.display(description="stored bytes")
    def stored(self, block: Block) -> SafeString:
        size: int = block.stored_bytes  # type: ignore[attr-defined]
        return format_html('<span title="{} bytes">{}</span>', grouped(size), size_of(size))

    @admin.display(description="recorded")
    def recorded(self, block: Block) -> SafeString | str:
        return ago(block.recorded_at)

    @admin.display(description="parent slot")
    def parent(self, block: Block) -> SafeString | str:
        skipped = block.slot - block.parent_slot - 1
        if skipped < 1:
            return str(block.parent_slot)
        return f"{block.parent_slot} ({skipped} slot{'s' if skipped > 1 else ''} between skipped)"

    @admin.display(description="neighbours")
    def neighbours(self, block: Block) -> SafeString | str:
        below, above = store.neighbours(block.slot)
        links = [
            (reverse("admin:historical_block_change", args=[slot]), f"{word} {slot}")
            for word, slot in (("previous", below), ("next", above))
            if slot is not None
        ]
        return format_html_join(" · ", '<a class="tm-link" href="{}">{}</a>', links) or "none"


def _why_nothing(asked: str) -> str:
    """What the ledger knows of what was looked for and not found."""
    slot = slot_in(asked)
    if slot is not None:
        return overview.why_no_block(slot)
    try:
        Signature.from_string(asked)
    except ValueError:
        return "Neither a slot nor a signature: a slot is a number, a signature 87 or 88 letters."
    return "No stored transaction has this signature."
