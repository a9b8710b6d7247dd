"""Sweeps on a running chain, from the clock's task to the treasury, crashes included."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from priority import tasks
from priority.models import Submission
from priority.treasury.services import sweeps
from priority.upstreams.models import Upstream
from tests.ingest.following import follower, worker
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import running_localnet
from tests.patience import wait
from tests.priority.landing import lander, upstream
from tests.tipping.balance_chain import SEED, TREASURY, BalanceChain, addresses, expired_batch
from tipping.models import TipBatch, TipEntry, TipSweep
from tipping.services import ledger, sweeping


@pytest.mark.django_db(transaction=True)
def test_what_came_in_is_what_the_treasury_gained_and_the_fees(
    settings: Any, nothing_remembered: None
) -> None:
    Upstream.objects.all().delete()
    upstream("node")
    with (
        running_localnet(LOCALNET_SLOT_MS=100, LOCALNET_SKIP_PERCENT=5) as localnet,
        worker(),
        follower(localnet.geyser_url, localnet.url),
    ):
        settings.UPSTREAM_RPC_URL, settings.TIP_SECRET_SEED = localnet.url, SEED
        settings.TREASURY_ADDRESS, settings.TIP_ADDRESSES = TREASURY, [TREASURY]
        policy = sweeping.SweepPolicy(seed=SEED, treasury=TREASURY, after=timedelta(0))
        batches = [expired_batch(BalanceChain(), issued=14, number=number) for number in (1, 2)]
        keys = [key for batch in batches for key in addresses(batch)]
        payer = wallet(localnet, 100 * SOL)

        def tip(*tips: tuple[int, int]) -> None:
            paid = [pay(payer, keys[place], lamports) for place, lamports in tips]
            landed(localnet, send(localnet, signed(localnet, paid, payer)), "finalized")

        def settled(count: int) -> bool:
            return TipSweep.objects.exclude(state="planned").count() == count

        tip(*((place, 1_000_000 + place) for place in range(0, 26, 2)), (1, 890_880))
        wait(lambda: TipEntry.objects.count() == 14, "the tips recorded")
        localnet.call("setFaults", {"forkSlots": 3})

        # Planned, and then the process died. Before the next one runs, a tip arrives at an
        # address that its sweep does not include.
        node = tasks.node_at(localnet.url)
        made = sweeping.plan(node, policy=policy, recorded_to=lambda: None, now=timezone.now())
        assert made == 2
        tip((0, 1))
        tasks.sweep_tips()
        with lander(localnet):
            tasks.sweep_tips()
            wait(lambda: settled(1) or settled(2), "the first sweep settled")
        # Another lander goes on where that one was stopped.
        sweeps.carry_on(now=timezone.now())
        with lander(localnet, name="other"):
            wait(lambda: settled(2), "both sweeps settled")
            assert sorted(TipSweep.objects.values_list("state", flat=True)) == ["failed", "landed"]

            # Later the rest goes, with what came late to an address that was swept already.
            swept = TipSweep.objects.get(state="landed").parts.first()
            assert swept is not None
            tip((keys.index(swept.address.pubkey), 2_000_000))
            TipSweep.objects.update(settled_at=timezone.now() - timedelta(minutes=11))
            TipBatch.objects.update(balances_read_at=None)
            wait(lambda: TipEntry.objects.filter(kind="tip", lamports=2_000_000).exists(), "late")

            def all_swept() -> bool:
                tasks.sweep_tips()
                return not TipBatch.objects.filter(swept_at=None).exists()

            wait(all_swept, "all is swept")

        fees = sum(sweep.fee for sweep in TipSweep.objects.filter(state__in=["landed", "failed"]))
        received = sum(1_000_000 + place for place in range(0, 26, 2)) + 890_880 + 1 + 2_000_000
        held = {
            key: localnet.call("getBalance", str(key), {"commitment": "finalized"})["value"]
            for key in [*keys, TREASURY]
        }
        assert held[TREASURY] == received - fees
        assert not any(held[key] for key in keys)
        assert ledger.balance_of([bytes(key) for key in held]) == {
            bytes(key): lamports for key, lamports in held.items()
        }
    assert set(TipBatch.objects.values_list("sweep_note", flat=True)) == {""}
    sent = Submission.objects.filter(kind="sweep", settled_at__isnull=False)
    assert sent.count() == TipSweep.objects.count()
