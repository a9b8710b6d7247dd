"""A busy chain whose stream and replays lose messages all the time: no slot is lost for good."""

import os
import time
from collections.abc import Iterator

import pytest

from rewind.models import Gap as ArchiveGap
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import (
    archived_to,
    is_localnets_chain,
    newest_archived,
    no_open_gaps,
)
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.soak.load import Load

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=200, LOCALNET_SKIP_PERCENT=5) as running:
        yield running


@pytest.mark.parametrize("last_writes", [False, True], ids=["every write", "last writes"])
def test_a_server_that_keeps_150_slots_and_loses_messages_costs_none(
    localnet: Localnet, last_writes: bool
) -> None:
    localnet.call("setFaults", {"replaySlots": 150, "replayLastWrites": last_writes})
    load = Load(localnet, pause_seconds=0.02)
    with worker(), follower(localnet.geyser_url, localnet.url) as following:
        archived_to(0)
        load.start()
        end = time.monotonic() + SECONDS / 2
        localnet.call("setFaults", {"losePercent": 1})
        while time.monotonic() < end:
            archived_to(newest_archived() + 20)
        localnet.call("setFaults", {"losePercent": 0})
        load.stop()
        archived_to(localnet.call("getSlot") + 10)
        wait(no_open_gaps, "every gap filled")
        assert not following.failure
    is_localnets_chain(localnet)
    short = ArchiveGap.objects.count()
    print(f"\n{newest_archived()} slots, {load.sent} transactions, {short} came short, 0 lost")
    assert short and load.sent > SECONDS
