"""Who may have streams, how many, what ends one, and in which encodings they are sent."""

import gzip
import random
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import grpc
import pytest
import zstandard
from django.db.models import QuerySet
from django.utils import timezone

from access import key_cache, usage
from access.models import Tier, UsageMinute
from access.services.keys import identify, suspend_key
from access.services.usage import roll_up_usage
from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.bare_client import BareCall
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

SLOTS = Request(slots={"s": {}})
BLOCKS = Request(blocks={"b": {"include_accounts": True}})


def key_id_of(key: str) -> int:
    found = identify(key, now=timezone.now()).key_id
    assert found is not None
    return found


def tier_of(key: str) -> QuerySet[Tier]:
    return Tier.objects.filter(name=identify(key, now=timezone.now()).tier)


def refused(error: grpc.RpcError) -> tuple[str, str]:
    """The status, and the reason's word."""
    return error.code().name, error.details().partition(":")[0]


def test_a_call_needs_a_key_that_is_good(geyser: Geyser, limited: Callable[..., str]) -> None:
    suspended = limited()
    suspend_key(key_id_of(suspended), now=timezone.now())
    for key, expected in (
        (None, ("UNAUTHENTICATED", "key_required")),
        ("x", ("UNAUTHENTICATED", "key_malformed")),
        (suspended, ("PERMISSION_DENIED", "key_suspended")),
    ):
        with pytest.raises(grpc.RpcError) as error:
            geyser.call("GetSlot", schema.GetSlotRequest(), key=key)
        assert refused(error.value) == expected
        with geyser.subscribed(SLOTS, key=key) as stream:
            assert refused(stream.refusal()) == expected


def test_unknown_calls_are_not_implemented(geyser: Geyser) -> None:
    for path in ("Nothing", "SubscribeDeshred", "SubscribeGossip"):
        with BareCall(geyser.port, geyser.key, path) as call:
            call.send(SLOTS)
            assert not call.frames()
            assert call.trailers["grpc-status"] == "12"
            assert call.trailers["grpc-message"].endswith(f"{path} is not served")


def test_a_key_has_so_many_streams_and_filters(geyser: Geyser, limited: Callable[..., str]) -> None:
    key = limited(stream_connections=2, stream_subscriptions=3)
    with ExitStack() as opened:
        for _ in range(2):
            stream = opened.enter_context(geyser.subscribed(SLOTS, key=key))
            next(iter(stream))
        with geyser.subscribed(SLOTS, key=key) as third:
            assert refused(third.refusal()) == ("RESOURCE_EXHAUSTED", "too_many_sockets")
        stream.send(Request(slots={str(n): {} for n in range(4)}))
        error = stream.refusal()
        assert refused(error) == ("RESOURCE_EXHAUSTED", "subscription_limit_reached")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with geyser.subscribed(SLOTS, key=key) as again:
            try:
                next(iter(again))
                return
            except grpc.RpcError:
                time.sleep(0.05)
    raise AssertionError("ended streams still count")


def test_a_suspended_key_ends_and_others_go_on(geyser: Geyser, limited: Callable[..., str]) -> None:
    key = limited()
    with geyser.subscribed(SLOTS, key=key) as stream, geyser.subscribed(SLOTS) as other:
        next(iter(stream))
        next(iter(other))
        suspend_key(key_id_of(key), now=timezone.now())
        assert refused(stream.refusal()) == ("PERMISSION_DENIED", "key_suspended")
        next(iter(other))


def test_updates_above_the_tiers_rate_end_the_stream(
    geyser: Geyser, limited: Callable[..., str]
) -> None:
    key = limited(stream_notifications_per_second=1)
    with geyser.subscribed(SLOTS, key=key) as stream:
        assert refused(stream.refusal()) == ("RESOURCE_EXHAUSTED", "notifications_above_limit")


def test_a_tier_changed_by_an_update_holds_for_open_streams(
    geyser: Geyser, limited: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a signal, and although nothing that is known of a key is read again by itself."""
    monkeypatch.setattr(key_cache, "LONGEST_SECONDS", 24 * 3_600.0)
    calls, rated, filtered = limited(), limited(), limited()
    with (
        geyser.subscribed(SLOTS, key=rated) as first,
        geyser.subscribed(SLOTS, key=filtered) as second,
    ):
        geyser.call("GetSlot", schema.GetSlotRequest(), key=calls)
        next(iter(first))
        next(iter(second))
        tier_of(rated).update(stream_notifications_per_second=1)
        tier_of(filtered).update(stream_subscriptions=1)
        tier_of(calls).update(requests_per_second=0.001, requests_burst=1)
        assert refused(first.refusal()) == ("RESOURCE_EXHAUSTED", "notifications_above_limit")
        deadline = time.monotonic() + PATIENCE_SECONDS
        with pytest.raises(grpc.RpcError) as error:
            while time.monotonic() < deadline:
                second.send(Request(slots={"a": {}, "b": {}}))
                next(iter(second))
        assert refused(error.value) == ("RESOURCE_EXHAUSTED", "subscription_limit_reached")
        with pytest.raises(grpc.RpcError) as error:
            while time.monotonic() < deadline:
                geyser.call("GetSlot", schema.GetSlotRequest(), key=calls)
        assert refused(error.value) == ("RESOURCE_EXHAUSTED", "rate_limited")


def test_usage_has_calls_updates_and_their_bytes(
    geyser: Geyser, limited: Callable[..., str]
) -> None:
    key = limited()
    geyser.call("GetSlot", schema.GetSlotRequest(), key=key)
    with geyser.subscribed(BLOCKS, key=key) as stream:
        size = next(iter(stream)).ByteSize()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        usage.flush()
        roll_up_usage(now=timezone.now())
        rows = {row.method: row for row in UsageMinute.objects.filter(key_id=key_id_of(key))}
        if {"geyserGetSlot", "geyserSubscribe", "geyserNotification"} <= rows.keys():
            break
        assert time.monotonic() < deadline, rows
        time.sleep(0.1)
    assert rows["geyserNotification"].calls >= 1
    assert rows["geyserNotification"].bytes >= size


@pytest.mark.parametrize(
    "bound", ["yellowstone.streams.MOST_WAITING_BYTES", "yellowstone.engine.MOST_UNREAD_BYTES"]
)
def test_a_slow_reader_is_ended(
    geyser: Geyser, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """By what waits for its stream, and by what waits for all streams."""
    monkeypatch.setattr(bound, 200_000)
    with BareCall(geyser.port, geyser.key) as call:
        call.send(BLOCKS)
        time.sleep(0.5)
        # It goes on reading when it is too late: the windows of HTTP/2 are 64 kB.
        deadline = time.monotonic() + PATIENCE_SECONDS
        with geyser.subscribed(SLOTS) as other:
            for _ in other:
                if _sockets_of(geyser) == 1 or time.monotonic() > deadline:
                    break
        while call.frames():
            pass
        assert call.trailers["grpc-status"] == "8"
        assert call.trailers["grpc-message"].startswith("too_slow")


def _sockets_of(geyser: Geyser) -> int:
    from shared_state.redis_client import NAMESPACE, client

    found = client().hgetall(f"{NAMESPACE}sockets:{key_id_of(geyser.key)}")
    return sum(int(value.split(b"|")[0]) for value in found.values())  # type: ignore[union-attr]


def test_the_first_encoding_that_the_client_accepts_is_used(geyser: Geyser) -> None:
    for accepted, expected in (
        ("zstd,gzip,identity", "zstd"),
        ("gzip, zstd", "gzip"),
        ("identity, deflate, gzip", None),
        ("", None),
    ):
        with BareCall(geyser.port, geyser.key, grpc_accept_encoding=accepted) as call:
            call.send(BLOCKS)
            flag, update = call.update()
            assert update.block.slot
            assert call.headers.get("grpc-encoding") == expected
            assert flag == (expected is not None)
            assert call.headers["grpc-accept-encoding"] == "identity,gzip,zstd"


def test_requests_may_be_compressed(geyser: Geyser) -> None:
    for name, pack in (("gzip", gzip.compress), ("zstd", zstandard.compress)):
        with BareCall(geyser.port, geyser.key, grpc_encoding=name) as call:
            call.send(BLOCKS, flag=1, packed=pack(BLOCKS.SerializeToString()))
            assert call.update()[1].block.slot
            assert call.headers["grpc-encoding"] == name
        with BareCall(geyser.port, geyser.key, grpc_encoding=name) as call:
            call.send(BLOCKS, flag=1, packed=pack(bytes(8 * 1_048_576)))
            assert not call.frames()
            assert call.trailers["grpc-status"] == "8"
    with BareCall(geyser.port, geyser.key, grpc_encoding="snappy") as call:
        assert not call.frames()
        assert call.trailers["grpc-status"] == "12"


def test_any_frames_disturb_no_other(geyser: Geyser) -> None:
    chance = random.Random(7)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)
    with geyser.subscribed(SLOTS) as other:
        next(iter(other))
        for _ in range(60):
            address = ("127.0.0.1", geyser.port)
            frames = b""
            for _ in range(chance.randrange(1, 8)):
                payload = chance.randbytes(chance.choice((0, 1, 4, 8, 40)))
                kind = bytes([chance.randrange(11), chance.choice((0, 1, 4, 5, 255))])
                number = chance.choice((0, 1, 3)).to_bytes(4, "big")
                frames += len(payload).to_bytes(3, "big") + kind + number + payload
            with (
                socket.create_connection(address, timeout=PATIENCE_SECONDS) as peer,
                suppress(OSError),
            ):
                peer.sendall(preface)
                peer.sendall(frames)
        for _ in range(3):
            next(iter(other))


def test_a_client_that_closes_in_the_middle_disturbs_no_other(geyser: Geyser) -> None:
    with geyser.subscribed(SLOTS) as other:
        for _ in range(5):
            with geyser.subscribed(BLOCKS) as stream:
                next(iter(stream))
        for _ in range(10):
            next(iter(other))


def test_what_is_not_http2_is_disconnected(geyser: Geyser) -> None:
    with socket.create_connection(("127.0.0.1", geyser.port), timeout=PATIENCE_SECONDS) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + bytes(100))
        while plain.recv(4_096):
            pass
    assert geyser.call("Ping", schema.PingRequest(count=1)).count == 1
