"""grpc.health.v1: for load balancers, without a key."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import serving_geyser

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


@pytest.fixture
def channel() -> Iterator[grpc.Channel]:
    with serving_geyser() as port, grpc.insecure_channel(f"127.0.0.1:{port}") as found:
        yield found


def _request(service: str) -> bytes:
    data = service.encode()
    return b"\n" + bytes([len(data)]) + data if data else b""


def _check(channel: grpc.Channel, request: bytes) -> Any:
    check = channel.unary_unary("/grpc.health.v1.Health/Check", bytes, bytes)
    try:
        return check(request, timeout=PATIENCE_SECONDS)
    except grpc.RpcError as refusal:
        return refusal.code()


def _watch(channel: grpc.Channel, service: str) -> Any:
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch", bytes, bytes)
    return watch(_request(service), timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("request_bytes", "answer"),
    [
        (b"", _SERVING),
        (_request("geyser.Geyser"), _SERVING),
        (_request("other.Service"), grpc.StatusCode.NOT_FOUND),
        (_request("geyser.Geyser/Subscribe"), grpc.StatusCode.NOT_FOUND),
        (b"\n\xff\x01" + b"x" * 255, grpc.StatusCode.NOT_FOUND),
        (b"\n", grpc.StatusCode.INVALID_ARGUMENT),
        (b"\n\x05abc", grpc.StatusCode.INVALID_ARGUMENT),
        (b"nonsense", grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_check_needs_no_key(channel: grpc.Channel, request_bytes: bytes, answer: Any) -> None:
    assert _check(channel, request_bytes) == answer


def test_other_calls_of_the_service_do_not_exist(channel: grpc.Channel) -> None:
    call = channel.unary_unary("/grpc.health.v1.Health/List", bytes, bytes)
    with pytest.raises(grpc.RpcError) as refusal:
        call(b"", timeout=PATIENCE_SECONDS)
    assert refusal.value.code() == grpc.StatusCode.UNIMPLEMENTED


def _served(channel: grpc.Channel) -> Any:
    """A Watch with its first message. The reset of a cancelled one may reach the server later."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        watch = _watch(channel, "")
        try:
            assert next(watch) == _SERVING
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > until:
                raise
        else:
            return watch


def test_one_address_has_so_many_watches(channel: grpc.Channel) -> None:
    unknown = _watch(channel, "other.Service")
    assert next(unknown) == _SERVICE_UNKNOWN
    unknown.cancel()
    assert _check(channel, b"") == _SERVING
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(9):
            watch = _watch(channel, "geyser.Geyser")
            stack.callback(watch.cancel)
            assert next(watch) == _SERVING
            opened.append(watch)
        # Those that were cancelled give their places back.
        for _ in range(30):
            _served(channel).cancel()
        last = _served(channel)
        stack.callback(last.cancel)
        with pytest.raises(grpc.RpcError) as refusal:
            next(_watch(channel, ""))
        assert refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.soak
def test_a_watch_is_sent_that_the_chain_is_away(channel: grpc.Channel) -> None:
    """No follower runs here."""
    watch = _watch(channel, "geyser.Geyser")
    assert [next(watch), next(watch)] == [_SERVING, _NOT_SERVING]
    assert _check(channel, b"") == _NOT_SERVING
    watch.cancel()


def test_a_foreign_client_reads_it(channel: grpc.Channel) -> None:
    messages = pytest.importorskip(
        "grpc_health.v1.health_pb2", reason="needs pip install grpcio-health-checking"
    )
    stubs = pytest.importorskip("grpc_health.v1.health_pb2_grpc")
    health = stubs.HealthStub(channel)
    request = messages.HealthCheckRequest(service="geyser.Geyser")
    serving = messages.HealthCheckResponse.SERVING
    assert health.Check(request, timeout=PATIENCE_SECONDS).status == serving
    watch = health.Watch(request, timeout=PATIENCE_SECONDS)
    assert next(watch).status == serving
    watch.cancel()
