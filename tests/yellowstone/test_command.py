"""manage.py serve_geyser: as `make run` starts it."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from tests import forked_commands
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import Geyser
from upstream.protobuf import geyser_pb2 as schema

ROOT = Path(__file__).resolve().parent.parent.parent


def test_it_serves_until_it_is_stopped(transactional_db: None, empty_redis: None) -> None:
    (port,) = free_ports(1)
    environment = {**os.environ, "GRPC_PORT": str(port)}
    process = forked_commands.start(["serve_geyser"], environment=environment)
    stranger = Geyser(port, None, "x")  # type: ignore[arg-type]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with pytest.raises(grpc.RpcError) as error:
            stranger.call("Ping", schema.PingRequest())
        if error.value.code() is grpc.StatusCode.UNAUTHENTICATED:
            break
        assert process.poll() is None and time.monotonic() < deadline, error.value
        time.sleep(0.1)
    second = forked_commands.run(["serve_geyser"], environment=environment)
    assert second.returncode == 1 and "cannot be listened on" in second.stderr
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0


def test_more_connections_than_it_may_open_files_keep_nobody_out(
    transactional_db: None, empty_redis: None
) -> None:
    (port,) = free_ports(1)
    command = 'ulimit -n 200; exec "$0" manage.py serve_geyser'
    process = subprocess.Popen(
        ["sh", "-c", command, sys.executable],
        cwd=ROOT,
        env={**os.environ, "GRPC_PORT": str(port)},
    )
    try:
        with ExitStack() as idle:
            deadline = time.monotonic() + PATIENCE_SECONDS
            opened = 0
            while opened < 250:
                assert process.poll() is None and time.monotonic() < deadline
                try:
                    idle.enter_context(socket.create_connection(("127.0.0.1", port)))
                except ConnectionRefusedError:  # it does not listen yet
                    time.sleep(0.1)
                    continue
                opened += 1
            stranger = Geyser(port, None, "x")  # type: ignore[arg-type]
            with pytest.raises(grpc.RpcError) as error:
                stranger.call("Ping", schema.PingRequest())
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def test_without_a_port_it_says_what_to_set() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_PORT"}
    found = forked_commands.run(["serve_geyser"], environment=environment)
    assert found.returncode == 1 and "set GRPC_PORT" in found.stderr
