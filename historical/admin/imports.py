"""The files that brought the ledger's blocks."""

from datetime import datetime

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from access.admin.read_only import ReadOnlyAdmin
from historical.models import Import
from staff.formatting import ago, badge, duration, grouped, utc

_HUES = {Import.State.DONE: "good", Import.State.FAILED: "bad", Import.State.RUNNING: "warning"}

# Characters of a failure in the list; the import's own page has it whole.
_SHORT = 120


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
        word = badge(entry.state, _HUES[Import.State(entry.state)], entry.failure[:300])
        if not entry.warnings:
            return word
        count = len(entry.warnings.splitlines())
        noun = "warning" if count == 1 else "warnings"
        return format_html("{} {}", word, badge(f"{count} {noun}", "warning"))

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
        return grouped(entry.blocks_recorded)

    @admin.display(description="blocks that were there")
    def present(self, entry: Import) -> str:
        return grouped(entry.blocks_present)

    @admin.display(description="new transactions", ordering="transactions_recorded")
    def transactions(self, entry: Import) -> str:
        return grouped(entry.transactions_recorded)

    @admin.display(description="slots", ordering="first_slot")
    def slots(self, entry: Import) -> str:
        if entry.first_slot is None:
            return "-"
        one = entry.first_slot == entry.last_slot
        return f"{entry.first_slot}" if one else f"{entry.first_slot} to {entry.last_slot}"

    @admin.display(description="started", ordering="started_at")
    def begun(self, entry: Import) -> SafeString | str:
        return ago(entry.started_at)

    @admin.display(description="started")
    def begun_at(self, entry: Import) -> str:
        return utc(entry.started_at, seconds=True)

    @admin.display(description="took")
    def took(self, entry: Import) -> str:
        if entry.finished_at is None:
            return f"running for {_seconds(entry.started_at, timezone.now())}"
        return _seconds(entry.started_at, entry.finished_at)


def _seconds(start: datetime, end: datetime) -> str:
    seconds = (end - start).total_seconds()
    return f"{seconds:.1f} s" if seconds < 60 else duration(end - start)
