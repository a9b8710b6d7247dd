"""A live feed that starts over, or misses slots: who lacks something is told, others go on."""

from collections.abc import Iterator

import pytest
from solders.pubkey import Pubkey
from websockets.exceptions import ConnectionClosed

from tests.ingest.following import caught_up, follower, worker
from tests.localnet.wallets import SOL, on_a_nonce, pay, send, wallet
from tests.localnet_process import Localnet
from tests.subscriptions.socket_client import Socket
from tests.upstream.hostile import relay
from tests.web_server import service_worker
from tests.webserver.serving import serving
from upstream.protobuf import geyser_pb2 as schema

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def is_ended(socket: Socket) -> bool:
    """Whether it was disconnected as one that may lack something, before some hundred messages."""
    with pytest.raises(ConnectionClosed) as closed:
        while len(socket.kept) < 500:
            socket.kept.append(socket.receive())
    last = socket.kept[-1]
    assert (last["method"], last["params"]) == ("endNotification", {"reason": "interrupted"})
    assert closed.value.rcvd is not None
    return (closed.value.rcvd.code, closed.value.rcvd.reason) == (1013, "interrupted")


@pytest.fixture
def port(localnet: Localnet) -> Iterator[int]:
    with worker(), serving(service_worker()) as port:
        yield port


def test_a_follower_that_restarts_is_not_passed_over_in_silence(
    localnet: Localnet, port: int, api_key: str
) -> None:
    url = f"ws://127.0.0.1:{port}/"
    payer = wallet(localnet)
    late = on_a_nonce(localnet, payer)  # a follower may start for longer than a blockhash lasts
    with Socket(url, api_key) as plain, Socket(url, api_key) as kept:
        with follower(localnet.geyser_url, localnet.url):
            caught_up(localnet)
            plain.notice(plain.call("slotSubscribe"))
            first = localnet.call("getSlot", {"commitment": "finalized"})
            memory = kept.call("rootSubscribe", {"fromSlot": first})
            roots = [kept.result(memory)]
            outcome = kept.call("signatureSubscribe", str(late.signatures[0]))
        with follower(localnet.geyser_url, localnet.url):
            assert is_ended(plain)
            send(localnet, late)
            assert kept.result(outcome)["value"] == {"err": None}
            while len(roots) < 60:
                roots.append(kept.result(memory))
    assert roots == list(range(first, first + 60))


def test_slots_that_the_stream_left_out_are_not_passed_over_in_silence(
    localnet: Localnet, port: int, api_key: str
) -> None:
    left_out: set[int] = set()

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        update = schema.SubscribeUpdate.FromString(message)
        kind = update.WhichOneof("update_oneof")
        if getattr(getattr(update, kind), "slot", 0) not in left_out:
            yield message

    url = f"ws://127.0.0.1:{port}/"
    with (
        relay(localnet.geyser_url, twist) as (geyser_url, _),
        follower(geyser_url, localnet.url),
        Socket(url, api_key) as plain,
        Socket(url, api_key) as later,
    ):
        caught_up(localnet)
        plain.notice(plain.call("rootSubscribe"))
        begin = localnet.call("getSlot", {"commitment": "processed"}) + 10
        left_out.update(range(begin, begin + 3))
        assert is_ended(plain)
        # What begins behind the break lacks nothing.
        number = later.call("rootSubscribe")
        roots = [later.result(number) for _ in range(40)]
    found = {each["params"]["result"] for each in plain.kept[:-1]}
    assert begin - 1 in found and not found & left_out
    assert roots == list(range(roots[0], roots[0] + 40)) and roots[0] > begin


def test_an_account_whose_write_alone_was_lost_is_not_passed_over_in_silence(
    localnet: Localnet, port: int, api_key: str
) -> None:
    """It is missing in no block. The replay that repairs the archive has it."""
    payer = wallet(localnet)
    receiver, other = Pubkey.new_unique(), Pubkey.new_unique()
    payment = on_a_nonce(localnet, payer, pay(payer, receiver, SOL), pay(payer, other, SOL))
    lost: list[int] = []

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        update = schema.SubscribeUpdate.FromString(message)
        if update.account.account.pubkey == bytes(receiver) and not lost:
            lost.append(update.account.slot)
        else:
            yield message

    url = f"ws://127.0.0.1:{port}/"
    with (
        relay(localnet.geyser_url, twist) as (geyser_url, _),
        follower(geyser_url, localnet.url),
        Socket(url, api_key) as plain,
        Socket(url, api_key) as kept,
        Socket(url, api_key) as of_other,
    ):
        caught_up(localnet)
        first = localnet.call("getSlot", {"commitment": "finalized"})
        memory = kept.call("accountSubscribe", str(receiver), {"fromSlot": first})
        plain.call("accountSubscribe", str(receiver), {"commitment": "processed"})
        plain.call("rootSubscribe")
        account = of_other.call("accountSubscribe", str(other), {"commitment": "processed"})
        roots = of_other.call("rootSubscribe")
        send(localnet, payment)
        assert is_ended(plain)
        result = kept.result(memory)
        assert (result["context"]["slot"], result["value"]["lamports"]) == (lost[0], SOL)
        assert of_other.result(account)["value"]["lamports"] == SOL
        while of_other.result(roots) < lost[0] + 20:
            pass
    methods = [each["method"] for each in plain.kept]
    assert methods.count("endNotification") == 1 and "accountNotification" not in methods
