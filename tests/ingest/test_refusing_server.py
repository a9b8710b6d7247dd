"""A stream's server that has nothing for us is asked again, and not all the time."""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from django.utils import timezone

from ingest.services.slots import ingest_waiting
from tests.ingest.following import follower
from tests.ingest.queued import enqueue
from tests.patience import wait
from tests.rewind.samples import block
from upstream.geyser import SERVICE
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def refusing_server(text: str) -> Iterator[tuple[str, list[bool]]]:
    """A server that calls every slot too old, and whether each of its callers asked for one."""
    asked: list[bool] = []

    def subscribe(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        asked.append(schema.SubscribeRequest.FromString(next(requests)).HasField("from_slot"))
        context.abort(grpc.StatusCode.OUT_OF_RANGE, text)
        yield b""

    methods: dict[str, Any] = {"Subscribe": grpc.stream_stream_rpc_method_handler(subscribe)}
    running = grpc.server(futures.ThreadPoolExecutor(4))
    running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        running.stop(None)


def test_a_server_that_gives_nothing_whatever_is_asked_is_not_asked_all_the_time(
    empty_redis: None,
) -> None:
    enqueue(block(100, writes=[], transactions=0))
    ingest_waiting(now=timezone.now, seconds=30.0)
    with refusing_server("broadcast is not available") as (url, asked), follower(url, None) as f:
        wait(lambda: len(asked) >= 3, "it is asked again")
        threading.Event().wait(1.0)
        # With pauses from a quarter of a second on there is time for four more.
        assert asked[:3] == [True, False, False]
        assert len(asked) < 10
        assert not f.failure
