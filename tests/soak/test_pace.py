"""The pace of a localnet with slots of other lengths, followed by its node for a minute."""

import time

import pytest

from ingest.services import slots as measuring
from shared_state import pace
from tests.ingest.test_node_follower import following
from tests.localnet_process import running_localnet
from tests.patience import wait

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("slot_ms", [250, 800])
def test_the_pace_is_the_chains_rate(slot_ms: int, empty_redis: None) -> None:
    """Against the rate of its slots by our clock: on a busy machine a localnet may be slower."""
    pace.forget()
    measuring.forget_pace()
    with running_localnet(LOCALNET_SLOT_MS=slot_ms, LOCALNET_SKIP_PERCENT=10) as localnet:
        first, began = localnet.call("getSlot"), time.monotonic()
        with following(localnet.url):
            ends = began + 75

            def is_published() -> bool:
                pace.forget()
                return time.monotonic() > ends and pace.slot_seconds() != pace.NOMINAL_SECONDS

            wait(is_published, "the pace")
            slots = localnet.call("getSlot") - first
            seconds = (time.monotonic() - began) / slots
    assert pace.slot_seconds() == pytest.approx(seconds, rel=0.06)
