"""manage.py serve_geyser: as `make run` starts it."""

import os
import time

import grpc
import pytest

from tests import forked_commands
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS
from tests.yellowstone.conftest import Geyser
from upstream.protobuf import geyser_pb2 as schema


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


def test_without_a_port_it_says_what_to_set() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_PORT"}
    found = forked_commands.run(["serve_geyser"], environment=environment)
    assert found.returncode == 1 and "set GRPC_PORT" in found.stderr
