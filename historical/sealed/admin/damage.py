"""Damage of the sealed ledger, and the command that repairs it: read-only."""

from typing import ClassVar

from django.contrib import admin

from historical.models import LedgerDamage
from sealed.admin import DamageAdmin
from staff.columns import column

State = LedgerDamage.State


@admin.register(LedgerDamage)
class LedgerDamageAdmin(DamageAdmin):
    store = "ledger"
    hints: ClassVar = {
        State.DAMAGED: "Reads that need it fail with sealed_data_damaged",
        State.REPAIRED: "It is as it was sealed, or was recorded again",
        State.GAP: "Its slots are gaps, or were filled again since",
        State.GONE: "Its blocks left, or its run was merged",
    }
    list_display = ("what", "status", "slots", "reason", "found", "ended", "ended_by")
    fieldsets = (
        (None, {"fields": ("what", "status", "slots", "reason", "found", "found_by")}),
        ("Repair", {"fields": ("command", "ended", "ended_by")}),
    )
    why_nothing = (
        "Nothing that is sealed is known to be damaged. All is read through once in"
        " LEDGER_SCRUB_DAYS, and a read that meets damage reports it."
    )

    what = column("damage", str, "kind")
