"""Damaged sealed blocks of the archive, and the command that repairs each: read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rewind.sealed_models import SealedDamage
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, grouped, shortened, slot_range
from staff.parsing import id_in, slot_in
from staff.read_only import LongListAdmin

State = SealedDamage.State
_STATES = {
    State.DAMAGED: ("damaged", "bad", "Reads that need it fail with archive_damaged"),
    State.REPAIRED: ("repaired", "good", "It is as it was sealed"),
    State.GAP: ("opened as a gap", "warning", "Its slots are gaps, or were filled again since"),
    State.GONE: ("no longer read", "quiet", "Its segment was merged, or left the window"),
}
StateFilter = choice_filter(
    "state", "state", {state.name.lower(): (_STATES[state][0], Q(state=state)) for state in State}
)


@admin.register(SealedDamage)
class SealedDamageAdmin(LongListAdmin):
    list_display = ("what", "status", "slots", "accounts", "reason", "found", "ended", "ended_by")
    list_filter = (StateFilter,)
    search_fields = ("first_slot",)  # by `condition`
    search_help_text = "A slot"
    fieldsets = (
        (None, {"fields": ("what", "status", "reason", "found", "found_by")}),
        ("Where", {"fields": ("slots", "accounts", "number", "place")}),
        ("Repair", {"fields": ("command", "ended", "ended_by")}),
    )
    why_nothing = (
        "No sealed block is known to be damaged. All are read through once in ARCHIVE_SCRUB_DAYS,"
        " and a read that meets damage reports it."
    )

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(first_slot__lte=slot, last_slot__gte=slot)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if id_in(object_id) is None else super().get_object(request, object_id)

    what = column("damage", str, "segment")
    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
    number = column("changes", lambda row: grouped(row.changes))
    found = column("found", lambda row: ago(row.found_at), "found_at")
    ended = column("ended", lambda row: ago(row.ended_at, never="not yet"), "ended_at")

    @admin.display(description="state", ordering="state")
    def status(self, row: SealedDamage) -> SafeString:
        return badge(*_STATES[State(row.state)])

    @admin.display(description="accounts")
    def accounts(self, row: SealedDamage) -> SafeString | str:
        if row.pubkey is None:
            return "all of the segment"
        first = shortened(row.pubkey)
        if row.last_pubkey is None:
            return format_html("from {}", first)
        return format_html("{} to {}", first, shortened(row.last_pubkey))

    @admin.display(description="command")
    def command(self, row: SealedDamage) -> SafeString | str:
        if row.state != State.DAMAGED:
            return "none: it is over"
        command = f"manage.py archive_repair --only archive:{row.pk}"
        return format_html(
            "<code>{} --from-database URL</code> from a replica or a restored backup;"
            " <code>{} --as-gap</code> where there is none",
            command,
            command,
        )
