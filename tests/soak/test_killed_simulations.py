"""A batch of simulations whose worker is killed: half a minute until it is told to be gone."""

import contextlib
from collections.abc import Iterator

import psutil
import pytest

from tests.clients.chain_endpoints import until
from tests.clients.mixed_history import SETTINGS, History, made
from tests.clients.service import Service, running_service
from tests.clients.test_simulation_jobs import ask, finished, results, state_of

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def history() -> Iterator[History]:
    # Soon enough for a test it is told that a worker is gone.
    with running_service(**SETTINGS, SIMULATION_TIMEOUT_SECONDS="1") as service:
        yield made(service, rounds=2)


def workers_of(service: Service) -> list[psutil.Process]:
    """The processes of this service that run simulations."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TIDEMARK_RUN_DIR") == str(service.run_dir) and any(
                "simulations@" in word for word in process.cmdline()
            ):
                found.append(process)
    return found


def test_a_killed_workers_job_goes_on_where_it_stopped(history: History) -> None:
    service = history.service
    signatures = [each.signature for each in history.taken[:200]]
    spec = {"signatures": signatures, "slotRange": {"fromSlot": 1, "toSlot": 4}}
    job = ask(service, "submitSimulationJob", spec)
    until(lambda: state_of(service, job)["done"] > 0, "the job has begun")
    killed = workers_of(service)
    assert killed
    for process in killed:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(killed, timeout=10)
    assert state_of(service, job)["done"] < job["total"]
    done = finished(service, job)
    assert (done["state"], done["done"]) == ("done", job["total"])
    found = results(service, job)
    assert [each["number"] for each in found] == list(range(job["total"]))
    lost = [each for each in found if each.get("error", {}).get("code") == -32603]
    assert not lost
