"""Sealed segments of the archive: read-only."""

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chain.slot_ranges import SlotRange
from rewind.recording.store.partitions import PARTITION_SLOTS
from rewind.sealed.models import SealedSegment
from sealed.admin import SealedAdmin, bytes_of
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, grouped, lamports

State = SealedSegment.State
_STATES = {
    State.BUILDING: ("being sealed", "warning", "Readers still read what it will replace"),
    State.ACTIVE: ("in use", "good", "Readers read it"),
    State.RETIRED: ("replaced", "quiet", "It was merged, or left the window: it is deleted soon"),
}
StateFilter = choice_filter(
    "state", "state", {state.label: (_STATES[state][0], Q(state=state)) for state in State}
)


def _a_change(segment: SealedSegment) -> str:
    return f"{segment.stored_bytes / segment.changes:.1f}" if segment.changes else "-"


def _level(segment: SealedSegment) -> str:
    size = SlotRange(segment.first_slot, segment.last_slot).size
    return "merged" if size > PARTITION_SLOTS else "partition"


@admin.register(SealedSegment)
class SealedSegmentAdmin(SealedAdmin):
    list_display = (
        "slots",
        "level",
        "status",
        "place",
        "number",
        "packed",
        "stored",
        "a_change",
        "dictionary_size",
        "when",
    )
    list_filter = (StateFilter,)
    fieldsets = (
        (None, {"fields": ("slots", "level", "status", "place", "begun", "when", "retired")}),
        (
            "Content",
            {"fields": ("number", "packed", "data", "stored", "a_change", "dictionary_size")},
        ),
        ("Object store", {"fields": ("cold_place", "cold_size", "moved")}),
        ("Replaces", {"fields": ("replaced_tables", "replaced_segments", "before")}),
        ("Verified", {"fields": ("lamports_sum", "hash_sum")}),
    )
    why_nothing = (
        "A partition of four hours is sealed as soon as it is finished and ARCHIVE_SEAL_AFTER_SLOTS"
        " behind the newest slot. The worker does it."
    )

    level = column("level", _level)
    status = column("state", lambda row: badge(*_STATES[State(row.state)]), "state")

    @admin.display(description="place")
    def place(self, segment: SealedSegment) -> SafeString | str:
        if segment.cold_at is not None:
            return badge("object store", "quiet", segment.cold_name)
        if segment.cold_buckets:
            hint = "First bytes of pubkeys whose blocks lie in the object store"
            return badge(f"moving, {segment.cold_buckets} of 256", "warning", hint)
        return "database"

    number = column("changes", lambda row: grouped(row.changes), "changes")
    packed = column("blocks", lambda row: grouped(row.blocks), "blocks")
    stored = column("packed bytes", lambda row: bytes_of(row.stored_bytes), "stored_bytes")
    a_change = column("bytes a change", _a_change)
    when = column("sealed", lambda row: ago(row.sealed_at, never="not yet"), "sealed_at")
    begun = column("begun", lambda row: ago(row.started_at))
    retired = column("replaced", lambda row: ago(row.retired_at))
    data = column("account data", lambda row: bytes_of(row.data_bytes))
    replaced_tables = column("partitions", lambda row: ", ".join(row.tables) or "none")

    replaced_segments = column("segments", lambda row: ", ".join(map(str, row.segments)) or "none")

    @admin.display(description="bytes of these partitions")
    def before(self, segment: SealedSegment) -> SafeString | str:
        if not segment.replaced_bytes:
            return "-"
        share = 100 * segment.stored_bytes / segment.replaced_bytes
        return format_html("{}, {}% of them left", bytes_of(segment.replaced_bytes), f"{share:.1f}")

    cold_place = column("folder", lambda row: row.cold_name or "none")
    cold_size = column("bytes", lambda row: bytes_of(row.cold_bytes))
    moved = column("moved", lambda row: ago(row.cold_at, never="not yet"))
    lamports_sum = column("sum of lamports", lambda row: lamports(int(row.lamports)))
    hash_sum = column(
        "sum of hashes", lambda row: format_html("<code>{}</code>", bytes(row.digest).hex() or "-")
    )
