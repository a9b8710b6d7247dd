"""Damaged texts of the sealed ledger are recorded again from a node."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from solders.pubkey import Pubkey

from historical.models import LedgerDamage, LedgerScrub
from historical.recording.services.recording import record_blocks
from historical.sealed.services.sealed_life import LEDGER
from historical.sealed.services.sealing import seal_step
from ingest import sources, tasks
from tests.conftest import Rpc
from tests.historical.test_sealed_damage import _nothing_cached
from tests.localnet_process import running_localnet
from tests.patience import wait

__all__ = ["_nothing_cached"]
V0 = {"maxSupportedTransactionVersion": 0}


def scrub() -> list[LedgerDamage]:
    found: list[LedgerDamage] = []
    now = timezone.now() + timedelta(days=1)
    while (done := LEDGER.scrub_step(older_than=timedelta(0), now=now)) is not None:
        found += done.found
        if not LedgerScrub.objects.get().is_running:
            break
    return found


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_ledger", "empty_redis", "_nothing_cached")
def test_a_node_gives_blocks_again(rpc: Rpc, settings: Any) -> None:
    LedgerDamage.objects.all().delete()
    LedgerScrub.objects.all().delete()
    with running_localnet(LOCALNET_SLOT_MS=40) as localnet:
        settings.FILL_RPC_URLS = [localnet.url]
        node = sources.nodes()[0]
        for number in range(1, 9):
            localnet.call("requestAirdrop", str(Pubkey(bytes([number]) * 32)), 10**9)
        wait(lambda: node.slot() > 20, "20 slots finalized")
        slots = localnet.call("getBlocks", 1, 20, {"commitment": "finalized"})
        long_ago = timezone.now() - timedelta(days=1)
        record_blocks([node.block(slot) for slot in slots], now=long_ago)
        before = [rpc("/historical", "getBlock", slot, V0)["result"] for slot in slots]
        busy = max(slots, key=lambda slot: len(before[slots.index(slot)]["transactions"]))
        while seal_step(
            range_slots=64,
            now=timezone.now(),
            finished_below=64,
        ):
            pass
        assert scrub() == []
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE historical_packedtexts"
                " SET frame = set_byte(frame, 40, get_byte(frame, 40) # 4)"
            )
            assert cursor.rowcount
        error = rpc("/historical", "getBlock", busy, V0)["error"]
        assert error["data"]["reason"] == "sealed_data_damaged"
        assert scrub()
        tasks.repair_ledger()
    ended = LedgerDamage.objects.values_list("state", "ended_by")
    assert set(ended) == {(LedgerDamage.State.REPAIRED, node.name)}
    assert [rpc("/historical", "getBlock", slot, V0)["result"] for slot in slots] == before
