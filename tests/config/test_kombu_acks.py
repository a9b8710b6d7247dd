"""A worker that has Redis hang between a task and its acknowledgement takes the next one."""

import contextlib
import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection, Consumer, Queue

from config.celery_app import app
from config.environment.redis_urls import broker_of
from embedded.addresses import embedded_addresses
from embedded.servers import Servers, start_servers, stop_servers
from tests.patience import PATIENCE_SECONDS

_QUEUE = Queue("broker-test", routing_key="broker-test")
_PAUSES = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2, "polling_interval": 0.1}
_log = logging.getLogger(__name__)


@pytest.fixture
def valkey() -> Iterator[tuple[Servers, str]]:
    """A Valkey as `make run` starts it, and its address."""
    run_dir = Path(tempfile.mkdtemp(prefix="tidemark-broker-"))
    servers = start_servers(run_dir, postgres=False)
    yield servers, embedded_addresses(run_dir).redis_url
    stop_servers(servers)
    shutil.rmtree(run_dir, ignore_errors=True)


@pytest.mark.parametrize("refused", [False, True], ids=["done", "refused"])
def test_the_next_task_is_taken(valkey: tuple[Servers, str], refused: bool) -> None:
    servers, url = valkey
    pid = servers.running[0].process.pid
    taken: list[Any] = []
    with connected(app, url) as connection:
        producer = connection.Producer()
        for each in range(3):
            producer.publish(each, routing_key=_QUEUE.name, declare=[_QUEUE])
        with Consumer(connection, [_QUEUE], prefetch_count=1, on_message=taken.append) as consumer:
            drain_until(connection, lambda: len(taken) == 1)
            os.kill(pid, signal.SIGSTOP)
            try:
                finish(taken[0], connection, refused=refused)
            finally:
                os.kill(pid, signal.SIGCONT)
            drain_until(connection, lambda: len(taken) == 2)
            assert not consumer.channel.qos.can_consume()  # one at a time, as before
            finish(taken[1], connection, refused=refused)
            drain_until(connection, lambda: len(taken) == 3)
            finish(taken[2], connection, refused=refused)
            # The broker hears of the first one in the end: it is not restored as a lost worker's.
            client = redis.Redis.from_url(url)
            drain_until(connection, lambda: not client.exists("unacked", "unacked_index"))
    assert [each.payload for each in taken] == [0, 1, 2]


def finish(message: Any, connection: Connection, *, refused: bool) -> None:
    """As a Celery worker does."""
    tell = message.reject_log_error if refused else message.ack_log_error
    tell(_log, connection.connection_errors)


@contextlib.contextmanager
def connected(celery: Celery, url: str) -> Iterator[Connection]:
    """As its workers connect, with shorter pauses."""
    options = {**celery.conf.broker_transport_options, **_PAUSES}
    with celery.connection_for_read(broker_of(url).url, transport_options=options) as connection:
        yield connection


def drain_until(connection: Connection, is_over: Callable[[], Any]) -> None:
    given_up_at = time.monotonic() + PATIENCE_SECONDS
    while not is_over():
        assert time.monotonic() < given_up_at
        with contextlib.suppress(TimeoutError, *connection.connection_errors):
            connection.drain_events(timeout=0.1)
