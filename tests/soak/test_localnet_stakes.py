"""A chain that is followed from genesis: its stakes follow from the archive's accounts over the
turns of epochs, no node is asked for them, and the proof goes on with them.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from solders.pubkey import Pubkey

from rewind import tasks
from rewind.baselines.models import EpochStake, StakeTurn
from rewind.proof.services import proving
from rewind.proof.store import epoch_stakes
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to
from tests.ingest.test_refuted_slots import through, until
from tests.localnet_process import Localnet, running_localnet

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]
SLOTS = 32


@pytest.fixture
def voting(empty_redis: None, settings: Any) -> Iterator[Localnet]:
    options = {"LOCALNET_SLOT_MS": 100, "LOCALNET_VOTES": "true", "LOCALNET_EPOCH_SLOTS": SLOTS}
    with running_localnet(**options) as localnet:
        settings.UPSTREAM_GEYSER_URL = localnet.geyser_url
        settings.UPSTREAM_RPC_URL = localnet.url
        settings.LOCALNET = True
        localnet.call("setFaults", {"replaySlots": 100_000})
        proving.forget()
        yield localnet
    proving.forget()


def test_each_epochs_stakes_follow_from_the_archive(
    voting: Localnet, rpc: Callable[..., Any], tmp_path: Path
) -> None:
    stakes = tmp_path / "stakes.json"
    with worker(), follower(voting.geyser_url, voting.url):
        archived_to(SLOTS + 4)
        with stakes.open("w") as file:  # a snapshot has the stakes of its epoch and the next one
            call_command("snapshot_stakes", voting.call("createSnapshot")["path"], stdout=file)
        archived_to(3 * SLOTS + 4)
        until(lambda: _count() >= {0, 1, 2, 3}, "four turns counted")
        until(lambda: through() >= 3 * SLOTS, "proven into the fourth epoch")
    assert set(StakeTurn.objects.values_list("outcome", flat=True)) == {"computed"}
    shown = {
        each["votePubkey"]: each["activatedStake"]
        for each in voting.call("getVoteAccounts")["current"]
    }
    for epoch in range(5):
        found = epoch_stakes.of_epoch(epoch)
        assert {str(Pubkey(key)): each.lamports for key, each in found.items()} == shown
        # On localnet a vote account's own key votes.
        assert all(each.voter == key for key, each in found.items())
        origin = epoch_stakes.origin_of(epoch)
        assert origin is not None
        assert origin.computed_slot is not None
    assert not EpochStake.objects.filter(baseline=None, computed_slot=None).exists()
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(rpc("/rewind", "getSlotProof", 2 * SLOTS + 3)))
    document = json.loads(proof.read_text())["result"]
    assert document["totalStake"] == sum(shown.values())
    assert all(each["authorizedVoter"] == each["votePubkey"] for each in document["votes"])
    call_command("verify_proof", str(proof), "--stakes", str(stakes))


def _count() -> set[int]:
    tasks.count_stakes()
    return set(StakeTurn.objects.exclude(outcome="running").values_list("epoch", flat=True))
