"""A localnet whose votes other keys sign: what then is settled, and what is not."""

from typing import Any

import pytest

from ingest import tasks as ingest_tasks
from rewind.proof.models import SlotProof
from rewind.proof.store import proof_runs, slot_proofs
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to
from tests.ingest.test_refuted_slots import until, voting
from tests.localnet_process import Localnet

__all__ = ["voting"]


def settled() -> int:
    return proof_runs.settled_through(10**6) or 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trusts_node", [True, False])
def test_forged_votes_settle_nothing(voting: Localnet, settings: Any, trusts_node: bool) -> None:
    settings.ARCHIVE_PROOF_TRUST_NODE = trusts_node
    voting.call("setFaults", {"forgedVotes": 4})
    forged_from = int(voting.call("getSlot", {"commitment": "processed"})) + 1
    with worker(), follower(voting.geyser_url, voting.url):
        archived_to(5)
        ingest_tasks.learn_stakes()
        until(lambda: (slot_proofs.newest() or 0) > forged_from + 16, "banks are computed")
        # Votes in the block of a slot are for its parent.
        assert settled() < forged_from
        assert not proof_runs.refuted(9)

        # Half of the stake is not enough, three quarters are.
        voting.call("setFaults", {"forgedVotes": 2})
        newest = slot_proofs.newest() or 0
        until(lambda: (slot_proofs.newest() or 0) > newest + 16, "banks are computed")
        assert settled() < forged_from
        voting.call("setFaults", {"forgedVotes": 1})
        until(lambda: settled() > newest + 16, "it goes on")
        through = proof_runs.proven_through(10**6)
        assert through == settled() if trusts_node else through is None
        row = SlotProof.objects.get(slot=SlotProof.objects.get(slot=settled()).voted_slot)
        assert row.voters == 3
