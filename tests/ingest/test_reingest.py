"""Re-ingesting: what was stored wrongly is as the chain says afterwards."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from chain.epochs import EpochSchedule
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps as gaps
from historical.models import Block, BlockTally, Gap
from historical.recording.services.removal import remove_blocks
from ingest import chain_identity, sources
from ingest.models import Finding, RangeOrder
from ingest.services import filling
from rewind.coverage.services import epochs
from rewind.models import AccountChange, ArchivedSlot, SlotTally
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to, is_localnets_chain
from tests.localnet_process import running_localnet


def sql(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def found(what: str) -> list[int]:
    order = RangeOrder.objects.latest("pk")
    rows = Finding.objects.filter(order=order, what=what).order_by("slot")
    return list(rows.values_list("slot", flat=True))


@pytest.mark.django_db(transaction=True)
def test_what_was_stored_wrongly_is_fetched_anew(empty_redis: None, settings: Any) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=20) as localnet:
        settings.UPSTREAM_GEYSER_URL = localnet.geyser_url
        settings.UPSTREAM_RPC_URL = localnet.url
        settings.FILL_RPC_URLS = [localnet.url]
        localnet.call("setFaults", {"replaySlots": 2_000})
        with worker(), follower(localnet.geyser_url, localnet.url):
            archived_to(25)
        # The follower has asked the node how long an epoch is.
        assert epochs.epochs() == (EpochSchedule(8_640), True)
        slots = list(ArchivedSlot.objects.order_by("slot").values_list("slot", flat=True))
        last, node = slots[-1], sources.nodes()[0].name
        changes = {slot.slot: slot.changes for slot in ArchivedSlot.objects.all()}
        call_command("verify_range", "0", str(last), "--node", node)
        assert found("node_differs") == found("write_missing") == found("wrong_balance") == []
        order = RangeOrder.objects.get()
        assert (order.sound, order.findings) == (len(slots), 0)

        gone, otherwise, lacking, wrong = slots[3], slots[5], slots[7], slots[9]
        remove_blocks(gone, gone)
        sql("UPDATE historical_block SET block_time = 7 WHERE slot = %s", otherwise)
        sql("UPDATE historical_blocktally SET blocks = 7, skipped = 7")
        sql("DELETE FROM rewind_accountchange WHERE slot = %s", lacking)
        sql("UPDATE rewind_archivedslot SET changes = 0 WHERE slot = %s", lacking)
        sql("UPDATE rewind_accountchange SET lamports = 7 WHERE slot = %s", wrong)
        sql("UPDATE rewind_slottally SET slots = 7")
        with pytest.raises(CommandError, match="findings are unresolved"):
            call_command("verify_range", "0", str(last), "--node", node)
        assert found("node_has_it") == [gone]
        assert found("node_differs") == [otherwise]

        call_command("reingest", "0", str(last), "--ledger-only", "--source", node)
        order = RangeOrder.objects.latest("pk")
        assert (order.stored, order.changed) == (1, 1)
        assert found("replaced") == [otherwise]
        call_command("reingest", "0", str(last), "--archive-only")
        assert found("corrected") == [lacking, wrong]
        is_localnets_chain(localnet)
        assert {slot.slot: slot.changes for slot in ArchivedSlot.objects.all()} == changes
        assert not AccountChange.objects.filter(slot=wrong, lamports=7).exists()

        call_command("reingest", "0", str(last))
        order = RangeOrder.objects.latest("pk")
        assert (order.sound, order.findings) == (len(slots), 0)
        call_command("verify_range", "0", str(last), "--node", node)
        assert RangeOrder.objects.latest("pk").findings == 0
    assert sum(tally.blocks for tally in BlockTally.objects.all()) == Block.objects.count()
    assert sum(tally.slots for tally in SlotTally.objects.all()) == len(slots)


@pytest.mark.django_db
def test_a_node_of_another_chain_is_asked_for_nothing(settings: Any) -> None:
    with running_localnet(LOCALNET_SLOT_MS=100) as localnet:
        settings.FILL_RPC_URLS = [localnet.url]
        chain_identity.claim("another chain", source="a file", now=timezone.now())
        name = sources.nodes()[0].name
        with pytest.raises(CommandError):
            call_command("reingest", "1", "3", "--ledger-only", "--source", name)
        order = RangeOrder.objects.latest("pk")
        assert order.state == "failed" and "follows another chain" in order.failure
        assert not Block.objects.filter(slot__in=[1, 2, 3]).exists()
        gaps.open_gap(1, 3, status=GapStatus.MISSING, cause="follower_down", now=timezone.now())
        filling.fill_due_gaps(now=lambda: timezone.now() + timedelta(minutes=1))
        assert "follows another chain" in Gap.objects.get().history[-1]["result"]
        assert not Block.objects.filter(slot__in=[1, 2, 3]).exists()
