"""Which slots are proven: read-only."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from rewind.proof.models import ProofRun, SlotProof
from rewind.proof.store import slot_proofs
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import badge, counted, grouped, in_full
from staff.read_only import LongListAdmin, SlotRangeAdmin

_LOOKS = {"proven": "good", "consistent": "quiet", "refuted": "bad"}
StateFilter = choice_filter(
    "state", "state", {name: (name, Q(state=name)) for name in ProofRun.State.values}
)
_REASONS = {
    "votes_not_seen": "Not enough votes for it have come yet",
    "votes_differ": "The cluster voted for another hash of its bank",
    "not_computed": "A slot below it is refuted, or was recorded again",
    "gap_before": "A gap below it was not filled in time",
    "no_baseline": "No proven snapshot below it",
    "signature_count_unknown": "A transaction of its block cannot be read",
    "rewritten": "It was proven, then recorded again, and is not known to be what was proven",
    "in_gap": "It was proven, and is in a gap now",
    "snapshot_differs": "A proven snapshot above it has another sum",
    "another_fork": "Its block is not in the chain that the cluster voted for",
}


@admin.register(ProofRun)
class ProofRunAdmin(SlotRangeAdmin, LongListAdmin):
    change_form_outer_after_template = "admin/rewind/proofrun/bank.html"
    list_display = ("slots", "size", "standing", "basis", "why")
    fields = ("slots", "size", "standing", "basis", "why")
    list_filter = (StateFilter,)
    why_nothing = (
        "Slots are proven from genesis or from a proven snapshot on, by the votes of the blocks"
        " above them (docs/proof.md)."
    )

    def beside_fields(self, request: HttpRequest, row: ProofRun) -> dict[str, Any]:
        bank = slot_proofs.at_or_below(row.last_slot, row.first_slot)
        is_refuted = row.state == ProofRun.State.REFUTED
        found: dict[str, Any] = {
            "bank": bank,
            "facts": [] if bank is None else _facts(bank),
            "is_refuted": is_refuted,
        }
        if is_refuted and request.user.has_perm("ingest.order_ranges"):
            window = {"first_slot": row.first_slot, "last_slot": row.last_slot}
            add = urlencode({"kind": "locate", **window, "source": "stream"})
            found["search"] = f"{reverse('admin:ingest_rangeorder_add')}?{add}"
        if is_refuted and request.user.has_perm("ingest.view_rangeorder"):
            listed = urlencode({"q": row.last_slot, "kind__exact": "locate"})
            found["searches"] = f"{reverse('admin:ingest_rangeorder_changelist')}?{listed}"
        return found

    size = column("number", lambda row: grouped(row.last_slot - row.first_slot + 1))
    basis = column("rests on", lambda row: _basis(row))
    why = column("why", lambda row: _REASONS.get(row.reason, row.reason))

    @admin.display(description="the cluster's votes", ordering="state")
    def standing(self, run: ProofRun) -> SafeString:
        return badge(run.state, _LOOKS.get(run.state, "warning"))


def _basis(run: ProofRun) -> str:
    """Where the stakes and voters are from that settled it."""
    if run.before_gap:
        return ""
    of_slot = "" if run.rests_on_slot is None else f" of slot {grouped(run.rests_on_slot)}"
    return f"{run.get_rests_on_display()}{of_slot}"


def _facts(bank: SlotProof) -> list[tuple[str, object]]:
    """What its hash is made of, and the votes for it, for people."""
    facts: list[tuple[str, object]] = [
        ("bank hash, from the archive", in_full(bank.bank_hash)),
        ("parent's bank hash", in_full(bank.parent_hash)),
        ("parent slot", str(bank.parent_slot)),
        ("blockhash", in_full(bank.blockhash)),
        ("signatures in its block", grouped(bank.signature_count)),
    ]
    if bank.voted_slot is None:
        return facts
    if bank.state == SlotProof.State.REFUTED:
        facts.append(("the cluster voted for", in_full(bank.voted_hash)))
    above = "" if bank.voted_slot == bank.slot else f", by votes for slot {bank.voted_slot}"
    voters = counted(bank.voters or 0, "vote account")
    facts.append(("voters", "a later snapshot" if bank.voters is None else f"{voters}{above}"))
    if bank.stake is not None and bank.total_stake:
        facts.append(("share of the stake", f"{bank.stake / bank.total_stake:.2%}"))
    return facts
