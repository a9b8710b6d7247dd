"""A node that executes slots twice: ledger and archive have the final banks alone."""

from collections.abc import Iterator
from itertools import product

import pytest

from rewind.models import ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.ingest.following import Following, follower, worker
from tests.ingest.stored_chain import archived_to, is_localnets_chain, newest_archived, no_open_gaps
from tests.ingest.test_follow import airdrops
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=60) as running:
        yield running


def twice(localnet: Localnet, *, ids: str) -> None:
    """Slots that are executed twice in each way, with transactions in them."""
    localnet.call("setFaults", {"bankIds": ids})
    for is_later, freezes in product((False, True), (False, True)):
        localnet.call(
            "setFaults", {"twoBanks": 3, "twoBanksLater": is_later, "twoBanksFreeze": freezes}
        )
        airdrops(localnet, 4)
        archived_to(newest_archived() + 6)
        wait(lambda: localnet.call("getFaults")["twoBanks"] == 0, "both banks of three slots")


def follows(localnet: Localnet, following: Following) -> None:
    archived_to(localnet.call("getSlot") + 5)
    assert not following.failure
    assert no_open_gaps()
    is_localnets_chain(localnet)


@pytest.mark.parametrize("ids", ["none", "blocks", "all"])
def test_slots_of_two_banks_are_stored_as_their_final_ones(localnet: Localnet, ids: str) -> None:
    with worker(), follower(localnet.geyser_url, localnet.url) as following:
        archived_to(0)
        twice(localnet, ids=ids)
        follows(localnet, following)
    gaps = list(ArchiveGap.objects.values_list("cause", "from_slot", "to_slot"))
    # Without ids banks that are alike cannot be separated (docs/decisions/two-banks.md).
    assert {cause for cause, *_ in gaps} <= ({"two_banks"} if ids == "none" else set()), gaps
    filled = {slot for _, first, last in gaps for slot in range(first, last + 1)}
    coarse = ArchivedSlot.objects.exclude(granularity=0).values_list("slot", flat=True)
    assert filled.issuperset(coarse)
