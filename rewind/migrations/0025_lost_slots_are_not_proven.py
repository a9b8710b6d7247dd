"""Slots that were lost before 0024, and are still missing, are not proven until equal ones come."""

from typing import Any

from django.db import migrations

from chain.slot_ranges import runs

_SETTLED = 1  # SlotProof.State
_STATES = ("proven", "consistent")


def mark_lost(apps: Any, _editor: Any) -> None:
    gaps = apps.get_model("rewind", "Gap").objects.filter(closed_at__isnull=True)
    proofs = apps.get_model("rewind", "SlotProof").objects.filter(state=_SETTLED)
    proof_runs = apps.get_model("rewind", "ProofRun").objects
    for first, last in gaps.values_list("from_slot", "to_slot"):
        slots = proofs.filter(slot__gte=first, slot__lte=last).order_by("slot")
        for part in runs(slots.values_list("slot", flat=True)):
            _split(proof_runs, *part)


def _split(proof_runs: Any, first: int, last: int) -> None:
    """Cuts the slots out of the runs of settled ones, and keeps what they were."""
    there = proof_runs.filter(state__in=_STATES, first_slot__lte=last, last_slot__gte=first)
    for run in list(there):
        basis = {"rests_on": run.rests_on, "rests_on_slot": run.rests_on_slot}
        low, high, state = run.first_slot, run.last_slot, run.state
        run.delete()
        for begin, end in ((low, first - 1), (last + 1, high)):
            if begin <= end:
                proof_runs.create(first_slot=begin, last_slot=end, state=state, **basis)
        proof_runs.create(
            first_slot=max(low, first),
            last_slot=min(high, last),
            state="unproven",
            reason="in_gap",
            before_gap=state,
            **basis,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0024_proof_before_gap"),
    ]

    operations = [
        migrations.RunPython(mark_lost, migrations.RunPython.noop),
    ]
