"""A voting chain that is followed: stakes come from its node, a slot whose write the stream altered
is refuted, and fetched again without being asked for.
"""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from solders.keypair import Keypair

from gaps.causes import REFUTED
from ingest import tasks as ingest_tasks
from ingest.models import Finding, RangeOrder
from ingest.services import node_stakes, orders, refuted_repair
from rewind import tasks
from rewind.baselines.models import EpochStake
from rewind.models import Gap
from rewind.proof.services import proving
from rewind.proof.store import proof_runs
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to, has_every_write
from tests.localnet.wallets import SOL, done, pay, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def voting(empty_redis: None, settings: Any) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=100, LOCALNET_VOTES="true") as localnet:
        settings.UPSTREAM_GEYSER_URL = localnet.geyser_url
        settings.UPSTREAM_RPC_URL = localnet.url
        settings.LOCALNET = True
        localnet.call("setFaults", {"replaySlots": 100_000})
        proving.forget()
        yield localnet
    proving.forget()


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        tasks.prove_archive()
        time.sleep(0.05)
    return found


def through() -> int:
    return proof_runs.proven_through(10**6) or 0


def refuted() -> list[int]:
    return [run.last for run in proof_runs.refuted(9)]


def _settled(slot: int) -> bool:
    return bool(refuted()) or through() >= slot


def struck(localnet: Localnet) -> int:
    """The slot of the one altered write, refuted. One that a later write of its slot covered, or
    that ingest saw by the block's balances, leaves no trace: then there is another.
    """
    payer = wallet(localnet)
    while True:
        localnet.call("setFaults", {"corruptWrite": 1})
        while localnet.call("getFaults")["corruptWrite"]:
            done(localnet, [pay(payer, Keypair().pubkey(), SOL // 100)], payer)
        above = int(localnet.call("getSlot", {"commitment": "processed"})) + 3
        until(partial(_settled, above), "it is refuted, or covered")
        if refuted():
            (slot,) = refuted()
            return slot


@pytest.mark.django_db(transaction=True)
def test_a_refuted_slot_is_repaired_by_itself(
    voting: Localnet, rpc: Callable[..., Any], tmp_path: Path, settings: Any
) -> None:
    with worker(), follower(voting.geyser_url, voting.url):
        archived_to(5)
        assert node_stakes.is_due()
        ingest_tasks.learn_stakes()
        assert not node_stakes.is_due()
        rows = EpochStake.objects.filter(epoch=0, baseline=None)
        assert {str(each.vote_account): each.stake for each in rows} == {
            each["votePubkey"]: each["activatedStake"]
            for each in voting.call("getVoteAccounts")["current"]
        }
        until(lambda: through() >= 10, "slot 10 proven")
        proof = tmp_path / "proof.json"
        proof.write_text(json.dumps(rpc("/rewind", "getSlotProof", 10)))
        stakes = tmp_path / "stakes.json"
        with stakes.open("w") as file:
            call_command("snapshot_stakes", voting.call("createSnapshot")["path"], stdout=file)
        call_command("verify_proof", str(proof), "--stakes", str(stakes))
        standing = rpc(
            "/rewind", "getAccountInfo", str(Keypair().pubkey()), {"slot": 10, "proof": True}
        )
        assert standing["result"]["context"]["proof"]["share"] > 2 / 3

        slot = struck(voting)
        settings.ARCHIVE_PROOF_REPAIR = False
        ingest_tasks.work_off_orders()
        assert not RangeOrder.objects.exists()
        settings.ARCHIVE_PROOF_REPAIR = True
        assert refuted_repair.is_due()
        ingest_tasks.work_off_orders()
        order = RangeOrder.objects.get()
        assert (order.kind, order.first_slot, order.state) == ("locate", slot, "done")
        assert order.asked_by == refuted_repair.BY_ITSELF
        found = list(Finding.objects.values_list("slot", "what"))
        assert set(found) == {(slot, "refuted_left")}
        assert Gap.objects.get(closed_at=None, from_slot=slot).cause == REFUTED
        assert not refuted_repair.is_due()
        until(lambda: (ingest_tasks.fill_gaps(), through() > slot)[1], f"slot {slot} proven")
        assert refuted() == []
        has_every_write(voting, slot)


@pytest.mark.django_db(transaction=True)
def test_without_a_stream_an_order_names_accounts_and_opens_the_gap(
    voting: Localnet, admin_client: Any, settings: Any
) -> None:
    with worker(), follower(voting.geyser_url, voting.url):
        archived_to(5)
        ingest_tasks.learn_stakes()
        slot = struck(voting)
        settings.UPSTREAM_GEYSER_URL = ""
        assert not refuted_repair.is_due()
        form = {"kind": "locate", "first_slot": "0", "last_slot": str(slot + 100), "ledger": "on"}
        page = admin_client.post("/admin/ingest/rangeorder/add/", form, follow=True)
        assert "The order is created" in page.content.decode()
        while orders.work_off(now=timezone.now, seconds=10.0):
            pass
        order = RangeOrder.objects.get()
        assert (order.state, order.ledger) == ("done", False), order.failure
        (finding,) = order.found.all()
        assert (finding.slot, finding.what) == (slot, "refuted_account")
        text = admin_client.get(f"/admin/ingest/rangeorder/{order.pk}/change/").content.decode()
        assert finding.detail.partition(":")[0] in text
        assert "Open gaps for these slots" in text
        text = admin_client.post(
            f"/admin/ingest/rangeorder/{order.pk}/gaps/", follow=True
        ).content.decode()
        assert "1 slot is in an open gap now" in text
        settings.UPSTREAM_GEYSER_URL = voting.geyser_url
        until(lambda: (ingest_tasks.fill_gaps(), through() > slot)[1], f"slot {slot} proven")
