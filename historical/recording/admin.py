"""The files that brought the ledger's blocks."""

from datetime import datetime

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from historical.models import Import
from staff.columns import column
from staff.formatting import ago, badge, counted, duration, grouped, moment, slot_range
from staff.read_only import ReadOnlyAdmin
from staff.states import state_badge

# Characters of a failure in the list; the import's own page has it whole.
_SHORT = 120


@admin.register(Import)
class ImportAdmin(ReadOnlyAdmin):
    list_display = ("name", "outcome", "reason", "blocks", "transactions", "slots", "begun", "took")
    list_fullwidth = True
    list_filter = ("state",)
    search_fields = ("file", "failure", "warnings")
    search_help_text = "File, warning or failure"
    ordering = ("-started_at", "-pk")
    fieldsets = (
        (None, {"fields": ("name", "outcome", "why", "format", "begun_at", "took")}),
        ("Content", {"fields": ("blocks", "present", "transactions", "slots", "all_warnings")}),
    )

    name = column("file", lambda row: _broken(row.file), "file")

    @admin.display(description="state", ordering="state")
    def outcome(self, entry: Import) -> SafeString:
        word = state_badge(entry.state, entry.failure[:300])
        if not entry.warnings:
            return word
        warnings = counted(len(entry.warnings.splitlines()), "warning")
        return format_html("{} {}", word, badge(warnings, "warning"))

    why = column("failure", lambda row: _broken(row.failure) if row.failure else "none")

    @admin.display(description="failure")
    def reason(self, entry: Import) -> SafeString | str:
        first = entry.failure.strip().partition("\n")[0]
        short = first if len(first) <= _SHORT else f"{first[: _SHORT - 1]}…"
        return format_html('<span title="{}">{}</span>', first, short) if first else "-"

    @admin.display(description="warnings")
    def all_warnings(self, entry: Import) -> SafeString | str:
        lines = [(line,) for line in entry.warnings.splitlines()]
        return format_html_join("", '<div class="tm-break">{}</div>', lines) or "none"

    blocks = column("new blocks", lambda row: grouped(row.blocks_recorded), "blocks_recorded")
    present = column("blocks that were there", lambda row: grouped(row.blocks_present))
    transactions = column(
        "new transactions", lambda row: grouped(row.transactions_recorded), "transactions_recorded"
    )

    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
    begun = column("started", lambda row: ago(row.started_at), "started_at")
    begun_at = column("started", lambda row: moment(row.started_at, seconds=True))

    @admin.display(description="took")
    def took(self, entry: Import) -> str:
        if entry.finished_at is None:
            return f"running for {_seconds(entry.started_at, timezone.now())}"
        return _seconds(entry.started_at, entry.finished_at)


def _broken(text: str) -> SafeString:
    """A text whose long words break."""
    return format_html('<span class="tm-break">{}</span>', text)


def _seconds(start: datetime, end: datetime) -> str:
    seconds = (end - start).total_seconds()
    return f"{seconds:.1f} s" if seconds < 60 else duration(end - start)
