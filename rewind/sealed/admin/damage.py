"""Damaged sealed blocks of the archive, and the command that repairs each: read-only."""

from typing import ClassVar

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rewind.sealed.models import SealedDamage
from sealed.admin import DamageAdmin
from staff.columns import column
from staff.formatting import grouped, shortened

State = SealedDamage.State


@admin.register(SealedDamage)
class SealedDamageAdmin(DamageAdmin):
    store = "archive"
    hints: ClassVar = {
        State.DAMAGED: "Reads that need it fail with archive_damaged",
        State.REPAIRED: "It is as it was sealed",
        State.GAP: "Its slots are gaps, or were filled again since",
        State.GONE: "Its segment was merged, or left the window",
    }
    list_display = ("what", "status", "slots", "accounts", "reason", "found", "ended", "ended_by")
    fieldsets = (
        (None, {"fields": ("what", "status", "reason", "found", "found_by")}),
        ("Where", {"fields": ("slots", "accounts", "number", "place")}),
        ("Repair", {"fields": ("command", "ended", "ended_by")}),
    )
    why_nothing = (
        "No sealed block is known to be damaged. All are read through once in ARCHIVE_SCRUB_DAYS,"
        " and a read that meets damage reports it."
    )

    what = column("damage", str, "segment")
    number = column("changes", lambda row: grouped(row.changes))

    @admin.display(description="accounts")
    def accounts(self, row: SealedDamage) -> SafeString | str:
        if row.pubkey is None:
            return "all of the segment"
        first = shortened(row.pubkey)
        if row.last_pubkey is None:
            return format_html("from {}", first)
        return format_html("{} to {}", first, shortened(row.last_pubkey))
