"""The follower against localnet: what it stores is localnet's chain, whatever happens between."""

from collections.abc import Iterator

import pytest

from chain.blocks import Granularity
from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest import slot_queue
from ingest.errors import WrongChain
from ingest.follower_state import published
from rewind.models import AccountChange, ArchivedSlot, ArchiveState
from rewind.models import Gap as ArchiveGap
from rewind.positions import START_OF_SLOT
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import (
    archived_to,
    is_localnets_chain,
    newest_archived,
    no_open_gaps,
)
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=10) as running:
        yield running


def airdrops(localnet: Localnet, count: int) -> None:
    from solders.keypair import Keypair

    for _ in range(count):
        localnet.call("requestAirdrop", str(Keypair().pubkey()), 1_000_000_000)


def genesis_archived(localnet: Localnet) -> None:
    """Slot 0, larger than all others together, waits no more."""
    with worker(), follower(localnet.geyser_url, localnet.url):
        archived_to(0)


def test_what_is_finalized_is_stored_with_every_write(localnet: Localnet) -> None:
    with worker(), follower(localnet.geyser_url, localnet.url) as following:
        airdrops(localnet, 20)
        wait(lambda: Block.objects.filter(transaction_count__gt=0).exists(), "a transaction")
        archived_to(localnet.call("getSlot") + 5)
        stored = newest_archived()
        wait(lambda: not following.sender.holds(stored), "the sender to know what is stored")
        state = published()
        assert state is not None and state.source == "localnet"
        assert not following.failure
    assert no_open_gaps()
    is_localnets_chain(localnet)
    assert not ArchivedSlot.objects.exclude(granularity=Granularity.WRITE).exists()


def test_what_a_chain_starts_with_is_stored_as_slot_0(localnet: Localnet) -> None:
    localnet.wait_for_slot(10)  # as where the follower comes up later than the chain
    with worker(), follower(localnet.geyser_url, localnet.url):
        archived_to(20)
    assert no_open_gaps()
    is_localnets_chain(localnet)
    assert ArchivedSlot.objects.order_by("slot")[0].slot == Block.objects.order_by("slot")[0].slot
    genesis = AccountChange.objects.filter(slot=0)
    assert genesis.count() == len(localnet.call("getAccountWrites", 0)) > 250
    assert set(genesis.values_list("position", flat=True)) == {START_OF_SLOT}


def test_a_cut_stream_goes_on_where_it_was(localnet: Localnet) -> None:
    with worker(), follower(localnet.geyser_url, localnet.url) as following:
        for _ in range(3):
            archived_to(newest_archived() + 5)
            localnet.call("setFaults", {"dropStreams": True})
        archived_to(localnet.call("getSlot") + 5)
        assert not following.failure
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_a_new_follower_resumes_after_the_last_stored_slot(localnet: Localnet) -> None:
    with worker():
        with follower(localnet.geyser_url, localnet.url):
            archived_to(10)
        stopped_at = newest_archived()
        localnet.wait_for_slot(stopped_at + 20)
        with follower(localnet.geyser_url, localnet.url):
            archived_to(stopped_at + 30)
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_disorder_and_forks_leave_no_trace(localnet: Localnet) -> None:
    localnet.call("setFaults", {"duplicatePercent": 20, "reorderPercent": 20})
    with worker(), follower(localnet.geyser_url, localnet.url):
        for _ in range(3):
            localnet.call("setFaults", {"forkSlots": 2, "skipSlots": 1})
            airdrops(localnet, 5)
            archived_to(newest_archived() + 6)
        archived_to(localnet.call("getSlot") + 5)
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_slots_wait_while_no_worker_stores_them(localnet: Localnet) -> None:
    genesis_archived(localnet)
    stopped_at = newest_archived()
    # Several slots fit, however many blockhashes and slot hashes this chain has by now.
    with follower(localnet.geyser_url, localnet.url, limit_bytes=100_000) as following:
        wait(lambda: slot_queue.count() > 2, "slots in Redis")
        assert newest_archived() == stopped_at
        with worker():
            archived_to(localnet.call("getSlot") + 5)
        assert not following.failure
    is_localnets_chain(localnet)


def test_a_full_outbox_does_not_hold_the_end_up(localnet: Localnet) -> None:
    genesis_archived(localnet)
    with follower(localnet.geyser_url, localnet.url, limit_bytes=1_000):
        wait(lambda: slot_queue.count() > 0, "a slot in Redis")
        localnet.wait_for_slot(localnet.call("getSlot") + 40)
        # And leaving the block ends it.
        assert slot_queue.count() < 20, "it went on reading"


def test_what_redis_lost_is_handed_over_again(localnet: Localnet) -> None:
    import redis
    from django.conf import settings

    with follower(localnet.geyser_url, localnet.url):
        wait(lambda: slot_queue.count() > 5, "slots in Redis")
        with redis.Redis.from_url(settings.REDIS_URL) as client:
            client.flushdb()
        with worker():
            archived_to(localnet.call("getSlot") + 5)
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_what_the_server_forgot_becomes_a_gap_with_a_cause(localnet: Localnet) -> None:
    with worker():
        with follower(localnet.geyser_url, localnet.url):
            archived_to(8)
        wait(lambda: not slot_queue.count(), "what was handed over is stored")
        localnet.call("setFaults", {"replaySlots": 5})
        stopped_at = newest_archived()
        localnet.wait_for_slot(stopped_at + 30)
        with follower(localnet.geyser_url, localnet.url):
            archived_to(stopped_at + 40)
    for model in (ArchiveGap, LedgerGap):
        gap = model.objects.filter(closed_at__isnull=True).order_by("from_slot").first()
        assert gap is not None
        assert (gap.from_slot, gap.status, gap.cause) == (stopped_at + 1, "unknown", "stream_lost")


def test_another_chain_is_refused_in_words(localnet: Localnet) -> None:
    ArchiveState.objects.create(id=1, filters_set_for="another genesis hash")
    with follower(localnet.geyser_url, localnet.url) as following:
        wait(lambda: following.failure, "a refusal")
    assert isinstance(following.failure[0], WrongChain)
    assert "another genesis hash" in str(following.failure[0])
    assert newest_archived() == -1


def test_two_workers_at_once_store_each_slot_once(localnet: Localnet) -> None:
    with follower(localnet.geyser_url, localnet.url):
        wait(lambda: slot_queue.count() > 10, "slots in Redis")
        with worker(), worker(), worker():
            archived_to(localnet.call("getSlot") + 3)
    is_localnets_chain(localnet)
