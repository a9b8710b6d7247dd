"""A chain that sends nothing: subscribers are disconnected with the reason."""

import signal

import pytest
from websockets.exceptions import ConnectionClosed

from historical.blocks.services.bounds import newest_slot_or_none
from shared_state.redis_client import client
from tests.patience import wait
from tests.subscriptions.conftest import Served

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


def test_a_subscriber_of_a_silent_stream_is_disconnected_with_the_reason(served: Served) -> None:
    process = served.localnet.process
    assert process is not None
    with served.socket() as subscriber, served.socket() as other:
        number = subscriber.call("slotSubscribe")
        subscriber.notice(number)
        wait(lambda: (newest_slot_or_none() or 0) >= 2, "three slots are stored")
        process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    subscriber.kept.append(subscriber.receive())
            last = subscriber.kept[-1]
            refused = other.error("slotSubscribe")
            # One with a memory is sent what is stored, to the last slot, and waits.
            first = newest_slot_or_none()
            assert first is not None
            number = other.call("rootSubscribe", {"fromSlot": first - 2})
            assert [other.result(number) for _ in range(3)] == [first - 2, first - 1, first]
            other.call("rootUnsubscribe", number)
        finally:
            process.send_signal(signal.SIGCONT)
        assert (last["method"], last["params"]) == ("endNotification", {"reason": "stream_silent"})
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1013, "stream_silent")
        # One without a subscription stays, and may subscribe once slots come again.
        assert refused["data"]["reason"] == "chain_not_followed"
        wait(lambda: "result" in other.answer("slotSubscribe"), "it is followed again")
        assert other.find(lambda each: each.get("method") == "slotNotification")


@pytest.mark.usefixtures("own_redis")
def test_a_redis_that_hangs_for_a_second_costs_no_notification(served: Served) -> None:
    with served.socket() as subscriber:
        number = subscriber.call("slotSubscribe")
        slots = [subscriber.result(number)["slot"]]
        client().execute_command("CLIENT", "PAUSE", 1_200)
        while len(slots) < 60:
            slots.append(subscriber.result(number)["slot"])
    assert slots == list(range(slots[0], slots[0] + 60))
