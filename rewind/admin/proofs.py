"""Which slots are proven: read-only."""

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString

from rewind.proof_models import ProofRun
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import badge, grouped, slot_range
from staff.parsing import slot_in
from staff.read_only import LongListAdmin

_LOOKS = {"proven": "good", "refuted": "bad"}
StateFilter = choice_filter(
    "state", "state", {name: (name, Q(state=name)) for name in ("proven", "refuted", "unproven")}
)
_REASONS = {
    "votes_not_seen": "Not enough votes for it have come yet",
    "votes_differ": "The cluster voted for another hash of its bank",
    "not_computed": "A slot below it is refuted, or was recorded again",
    "gap_before": "A gap below it was not filled in time",
    "no_baseline": "No proven snapshot below it",
    "signature_count_unknown": "A transaction of its block cannot be read",
    "rewritten": "It was proven, and its accounts were changed since",
    "snapshot_differs": "A proven snapshot above it has another sum",
}


@admin.register(ProofRun)
class ProofRunAdmin(LongListAdmin):
    list_display = ("slots", "size", "standing", "why")
    fields = ("slots", "size", "standing", "why")
    list_filter = (StateFilter,)
    search_fields = ("first_slot",)  # by `condition`
    search_help_text = "A slot"
    why_nothing = (
        "Slots are proven from genesis or from a proven snapshot on, by the votes of the blocks"
        " above them (docs/proof.md)."
    )

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(first_slot__lte=slot, last_slot__gte=slot)

    slots = column("slots", lambda row: slot_range(row.first_slot, row.last_slot), "first_slot")
    size = column("number", lambda row: grouped(row.last_slot - row.first_slot + 1))
    why = column("why", lambda row: _REASONS.get(row.reason, row.reason))

    @admin.display(description="the cluster's votes", ordering="state")
    def standing(self, run: ProofRun) -> SafeString:
        return badge(run.state, _LOOKS.get(run.state, "warning"))
