"""Damage of the sealed ledger, and the command that repairs it: read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from historical.models import LedgerDamage
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, slot_range
from staff.parsing import id_in, slot_in
from staff.read_only import LongListAdmin

State = LedgerDamage.State
_STATES = {
    State.DAMAGED: ("damaged", "bad", "Reads that need it fail with sealed_data_damaged"),
    State.REPAIRED: ("repaired", "good", "It is as it was sealed, or was recorded again"),
    State.GAP: ("opened as a gap", "warning", "Its slots are gaps, or were filled again since"),
    State.GONE: ("no longer read", "quiet", "Its blocks left, or its run was merged"),
}
StateFilter = choice_filter(
    "state", "state", {state.name.lower(): (_STATES[state][0], Q(state=state)) for state in State}
)


@admin.register(LedgerDamage)
class LedgerDamageAdmin(LongListAdmin):
    list_display = ("what", "status", "slots", "reason", "found", "ended", "ended_by")
    list_filter = (StateFilter,)
    search_fields = ("first_slot",)  # by `condition`
    search_help_text = "A slot"
    fieldsets = (
        (None, {"fields": ("what", "status", "slots", "reason", "found", "found_by")}),
        ("Repair", {"fields": ("command", "ended", "ended_by")}),
    )
    why_nothing = (
        "Nothing that is sealed is known to be damaged. All is read through once in"
        " LEDGER_SCRUB_DAYS, and a read that meets damage reports it."
    )

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(first_slot__lte=slot, last_slot__gte=slot)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if id_in(object_id) is None else super().get_object(request, object_id)

    what = column("damage", str, "kind")
    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
    found = column("found", lambda row: ago(row.found_at), "found_at")
    ended = column("ended", lambda row: ago(row.ended_at, never="not yet"), "ended_at")

    @admin.display(description="state", ordering="state")
    def status(self, row: LedgerDamage) -> SafeString:
        return badge(*_STATES[State(row.state)])

    @admin.display(description="command")
    def command(self, row: LedgerDamage) -> SafeString | str:
        if row.state != State.DAMAGED:
            return "none: it is over"
        command = f"manage.py archive_repair --only ledger:{row.pk}"
        return format_html(
            "<code>{} --from-database URL</code> from a replica or a restored backup;"
            " <code>{} --as-gap</code> where there is none",
            command,
            command,
        )
