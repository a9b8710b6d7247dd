"""The ledger to look at: its blocks and the files that brought them."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from solders.signature import Signature
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from access.admin import words
from chain.units import I64_MAX
from columns.gaps import GapStatus, SlotGap
from historical.models import Block, Gap, Import
from historical.services import gaps, overview
from historical.store import overview as store

_VERSIONS = {-1: "legacy only", 0: "up to version 0", 1: "up to version 1"}
_HUES = {Import.State.DONE: "good", Import.State.FAILED: "bad", Import.State.RUNNING: "warning"}

# Characters of a failure in the list; the import's own page has it whole.
_SHORT = 120


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """To be looked at: rows are written by imports and by the follower alone."""

    actions: Any = None

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        extra = {"show_history": False, **(extra_context or {})}  # nobody here wrote it
        response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        return response

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


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
        asked = _slot_in(text)
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
        return "not told" if at is None else words.plain(at, seconds=True)

    @admin.display(description="block height")
    def height(self, block: Block) -> str:
        return words.grouped(block.block_height, "not told")

    @admin.display(description="transactions")
    def transactions(self, block: Block) -> str:
        return words.grouped(block.transaction_count)

    @admin.display(description="failed")
    def failed(self, block: Block) -> str:
        if not block.failed_count:
            return "0"
        share = 100 * block.failed_count / max(1, block.transaction_count)
        return f"{words.grouped(block.failed_count)} ({share:.0f}%)"

    @admin.display(description="transaction versions")
    def versions(self, block: Block) -> str:
        return _VERSIONS.get(block.newest_version, str(block.newest_version))

    @admin.display(description="stored bytes")
    def stored(self, block: Block) -> SafeString:
        size: int = block.stored_bytes  # type: ignore[attr-defined]
        return format_html(
            '<span title="{} bytes">{}</span>', words.grouped(size), words.size_of(size)
        )

    @admin.display(description="recorded")
    def recorded(self, block: Block) -> SafeString | str:
        return words.moment(block.recorded_at, timezone.now())

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


def _slot_in(text: str) -> int | None:
    digits = text.replace(",", "")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) <= I64_MAX:
        return int(digits)
    return None


def _why_nothing(asked: str) -> str:
    """What the ledger knows of what was looked for and not found."""
    slot = _slot_in(asked)
    if slot is not None:
        return overview.why_no_block(slot)
    try:
        Signature.from_string(asked)
    except ValueError:
        return "Neither a slot nor a signature: a slot is a number, a signature 87 or 88 letters."
    return "No stored transaction has this signature."


@admin.register(Import)
class ImportAdmin(ReadOnlyAdmin):
    list_display = ("name", "outcome", "reason", "blocks", "transactions", "slots", "begun", "took")
    list_fullwidth = True
    list_display_links = ("name",)
    list_filter = ("state",)
    list_per_page = 50
    search_fields = ("file", "failure", "warnings")
    search_help_text = "File, warning or failure"
    ordering = ("-started_at", "-pk")
    fieldsets = (
        (None, {"fields": ("name", "outcome", "why", "format", "begun_at", "took")}),
        ("Content", {"fields": ("blocks", "present", "transactions", "slots", "told")}),
    )
    readonly_fields = (
        "name",
        "outcome",
        "why",
        "format",
        "begun_at",
        "took",
        "blocks",
        "present",
        "transactions",
        "slots",
        "told",
    )

    @admin.display(description="file", ordering="file")
    def name(self, entry: Import) -> SafeString:
        return format_html('<span class="tm-break">{}</span>', entry.file)

    @admin.display(description="state", ordering="state")
    def outcome(self, entry: Import) -> SafeString:
        word = words.coloured(entry.state, _HUES[Import.State(entry.state)], entry.failure[:300])
        if not entry.warnings:
            return word
        count = len(entry.warnings.splitlines())
        noun = "warning" if count == 1 else "warnings"
        return format_html("{} {}", word, words.coloured(f"{count} {noun}", "warning"))

    @admin.display(description="failure")
    def why(self, entry: Import) -> SafeString | str:
        if not entry.failure:
            return "none"
        return format_html('<span class="tm-break">{}</span>', entry.failure)

    @admin.display(description="failure")
    def reason(self, entry: Import) -> SafeString | str:
        first = entry.failure.strip().partition("\n")[0]
        short = first if len(first) <= _SHORT else f"{first[: _SHORT - 1]}…"
        return format_html('<span title="{}">{}</span>', first, short) if first else "-"

    @admin.display(description="warnings")
    def told(self, entry: Import) -> SafeString | str:
        lines = [(line,) for line in entry.warnings.splitlines()]
        return format_html_join("", '<div class="tm-break">{}</div>', lines) or "none"

    @admin.display(description="new blocks", ordering="blocks_recorded")
    def blocks(self, entry: Import) -> str:
        return words.grouped(entry.blocks_recorded)

    @admin.display(description="blocks that were there")
    def present(self, entry: Import) -> str:
        return words.grouped(entry.blocks_present)

    @admin.display(description="new transactions", ordering="transactions_recorded")
    def transactions(self, entry: Import) -> str:
        return words.grouped(entry.transactions_recorded)

    @admin.display(description="slots", ordering="first_slot")
    def slots(self, entry: Import) -> str:
        if entry.first_slot is None:
            return "-"
        one = entry.first_slot == entry.last_slot
        return f"{entry.first_slot}" if one else f"{entry.first_slot} to {entry.last_slot}"

    @admin.display(description="started", ordering="started_at")
    def begun(self, entry: Import) -> SafeString | str:
        return words.moment(entry.started_at, timezone.now())

    @admin.display(description="started")
    def begun_at(self, entry: Import) -> str:
        return words.plain(entry.started_at, seconds=True)

    @admin.display(description="took")
    def took(self, entry: Import) -> str:
        if entry.finished_at is None:
            return f"running for {_seconds(entry.started_at, timezone.now())}"
        return _seconds(entry.started_at, entry.finished_at)


class OpenFilter(admin.SimpleListFilter):
    """Open gaps are what somebody comes for; the closed ones are history."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("closed", "closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(closed_at__isnull=self.value() == "open")


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """Runs of slots that are lacking; the archive's have the same page."""

    services: Any = gaps
    list_display = ("slots", "size", "outcome", "cause", "tries", "next_try", "opened", "latest")
    list_display_links = ("slots",)
    list_fullwidth = True
    list_filter = (OpenFilter, "status", "cause")
    list_per_page = 50
    ordering = ("-from_slot", "-pk")
    search_fields = ("from_slot",)  # looked for in get_search_results
    search_help_text = "A slot"
    actions = ["try_again_now"]
    readonly_fields = ("slots", "size", "outcome", "cause", "tries", "next_try", "opened", "story")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        due = self.services.try_now(chosen, now=timezone.now())
        noun = "gap is" if due == 1 else "gaps are"
        messages.success(request, f"{due} {noun} due; closed ones stay closed.")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        slot = _slot_in(text)
        if slot is None:
            return queryset.none(), False
        return queryset.filter(from_slot__lte=slot, to_slot__gte=slot), False

    @admin.display(description="slots", ordering="from_slot")
    def slots(self, gap: SlotGap) -> str:
        one = gap.from_slot == gap.to_slot
        return f"{gap.from_slot}" if one else f"{gap.from_slot} to {gap.to_slot}"

    @admin.display(description="how many")
    def size(self, gap: SlotGap) -> str:
        return words.grouped(gap.to_slot - gap.from_slot + 1)

    @admin.display(description="state", ordering="status")
    def outcome(self, gap: SlotGap) -> SafeString:
        if gap.closed_at is not None:
            return words.coloured(
                "closed", "good", f"{gap.closed_by}, {words.plain(gap.closed_at)}"
            )
        return words.coloured(gap.status, "bad" if gap.status == GapStatus.MISSING else "warning")

    @admin.display(description="next try", ordering="next_try_at")
    def next_try(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is not None:
            return "-"
        return words.moment(gap.next_try_at, timezone.now(), "at once")

    @admin.display(description="opened", ordering="opened_at")
    def opened(self, gap: SlotGap) -> SafeString | str:
        return words.moment(gap.opened_at, timezone.now())

    @admin.display(description="last event")
    def latest(self, gap: SlotGap) -> str:
        return _told(gap.history[-1]) if gap.history else "-"

    @admin.display(description="history")
    def story(self, gap: SlotGap) -> SafeString | str:
        lines = [
            (words.plain(datetime.fromisoformat(event["at"]), seconds=True), _told(event))
            for event in gap.history
        ]
        return format_html_join("", '<div class="tm-break">{}: {}</div>', lines) or "none"


def _told(event: dict[str, str]) -> str:
    source = f" by {event['source']}" if event.get("source") else ""
    result = f": {event['result']}" if event.get("result") else ""
    return f"{event['event']}{source}{result}"


def _seconds(start: datetime, end: datetime) -> str:
    seconds = (end - start).total_seconds()
    return f"{seconds:.1f} s" if seconds < 60 else words.length(end - start)
