"""The units of deploy/systemd under a real systemd: they wait for the database, report readiness,
are restarted where they hang or die, and stop in time.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from embedded.programs import wheel_programs
from tests.deploy.machine import Machine, machine
from tests.engines import postgres, valkey
from tests.localnet_process import free_ports, running_localnet
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.soak

NAMES = ("web", "worker", "ingest", "simulations", "follower", "lander", "beat", "grpc")
TOKEN = "of-a-test"


def until(is_so: Callable[[], bool], on: Machine) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, on.log()
        time.sleep(0.5)


def readiness(port: int) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/readyz", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        return dict(json.load(error))
    except OSError:
        return {}


def test_the_units_run_and_are_restarted_and_stop() -> None:
    programs = wheel_programs()
    with ExitStack() as stack:
        database = stack.enter_context(postgres(programs.postgres.parent))
        redis = stack.enter_context(valkey(programs.valkey))
        localnet = stack.enter_context(running_localnet(LOCALNET_SLOT_MS=400))
        port, grpc = free_ports(2)
        host = stack.enter_context(
            machine(
                DATABASE_URL=database.url(),
                REDIS_URL=f"redis://127.0.0.1:{redis.port}/0",
                UPSTREAM_RPC_URL=localnet.url,
                UPSTREAM_GEYSER_URL=localnet.geyser_url,
                PORT=str(port),
                GRPC_PORT=str(grpc),
                METRICS_TOKEN=TOKEN,
                WEB_WORKERS="1",
                WORKER_PROCESSES="1",
                SHARED_MEMORY_DIR="/var/lib/tidemark",
            )
        )
        units = [f"tidemark-{name}.service" for name in NAMES]
        host.run("systemctl", "enable", "tidemark.target", "tidemark-migrate.service", *units)
        with database.program.away():
            host.run("systemctl", "start", "--no-block", "tidemark.target")
            until(lambda: "waits for the database" in host.log(), host)
            assert host.shows("tidemark-migrate.service", "ActiveState") == "activating"
        until(lambda: readiness(port).get("status") == "ok", host)
        assert {host.shows(unit, "ActiveState") for unit in units} == {"active"}
        assert {host.shows(unit, "NRestarts") for unit in units} == {"0"}

        for unit, signal in (("web", "STOP"), ("follower", "STOP"), ("lander", "KILL")):
            host.run("kill", f"-{signal}", host.shows(f"tidemark-{unit}.service", "MainPID"))
        restarted = [f"tidemark-{name}.service" for name in ("web", "follower", "lander")]
        until(lambda: {host.shows(unit, "NRestarts") for unit in restarted} == {"1"}, host)
        until(lambda: readiness(port).get("status") == "ok", host)

        host.run("systemctl", "stop", "tidemark.target", "tidemark-migrate.service")
        for unit in ("tidemark-migrate.service", *units):
            assert host.shows(unit, "ActiveState") == "inactive", host.log()
            assert host.shows(unit, "Result") == "success", host.log()
