"""Queries on the submissions that are sweeps of our own."""

from collections.abc import Iterable

from solders.signature import Signature

from priority.models import Submission


def submitted(signatures: Iterable[Signature]) -> dict[Signature, Submission]:
    """Those of the signatures that a lander has taken up."""
    rows = Submission.objects.filter(signature__in=[bytes(each) for each in signatures])
    return {
        row.signature: row
        for row in rows.only("signature", "state", "slot", "reason", "err", "settled_at")
    }
