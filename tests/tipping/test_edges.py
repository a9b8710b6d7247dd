"""Two edges: web servers with names of their own, on one database and one Redis."""

import http.client
import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest
from django.conf import settings
from django.utils import timezone
from solders.pubkey import Pubkey

from tests import forked_commands
from tests.databases import this_database
from tests.forked_commands import ForkedProcess
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS
from tests.tipping.conftest import SEED
from tipping.models import TipAddress, TipBatch
from tipping.services import batches

FETCHES = 200


@dataclass
class EdgeServer:
    name: str
    port: int
    process: ForkedProcess

    def get(self, path):
        """Status and JSON."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            link.request("GET", path)
            response = link.getresponse()
            return response.status, json.loads(response.read())
        finally:
            link.close()

    def kill(self):
        """Kills the server at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def edge(name) -> Iterator[EdgeServer]:
    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "DATABASE_URL": this_database(),
        "REDIS_URL": settings.REDIS_URL,
        "EDGE_NAME": name,
        "LOG_LEVEL": "ERROR",
    }
    process = forked_commands.start(
        ["serve", "--port", str(port), "--workers", "1"], environment=environment, output=2
    )
    server = EdgeServer(name, port, process)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            with suppress(OSError, http.client.HTTPException):
                if server.get("/healthz")[0] == 200:
                    break
            time.sleep(0.05)
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.django_db(transaction=True)
def test_two_edges_issue_no_address_twice_and_know_each_others_addresses(ttl_classes, tier):
    tier("anonymous", 0, requests_per_second=None, tip_fetches_per_second=None)
    # Less than is fetched: batches are used up meanwhile, and the edges race to rotate.
    ttl_classes(600, window=3_600, size=250)
    batches.prepare_batches(seed=SEED, now=timezone.now())
    batches.rotate_due(now=timezone.now())
    with edge("edge-a") as here, edge("edge-b") as there:
        answered, checked = _race([here, there])
        every = [address for answer in answered for address in answer["addresses"]]
        assert len(answered) == FETCHES and len(every) == len(set(every)) > FETCHES
        assert checked == len(answered)
        assert {answer["issued_by"] for answer in answered} == {"edge-a", "edge-b"}
        assert TipBatch.objects.filter(state="open").count() == 1
        _killed_between_commit_and_answer(here, there, set(every))


def _race(servers):
    """Fetches over both; each response's first address is checked on the other edge at once."""

    def fetch(number):
        server, other = servers[number % 2], servers[(number + 1) % 2]
        status, answer = server.get(f"/priority/fetchtipaddress?count={1 + number % 3}")
        assert status == 200, answer
        _, standing = other.get(f"/priority/tipaddress/{answer['addresses'][0]}")
        known = standing["valid"] and standing["expires_at"] == answer["expires_at"]
        return answer, bool(known)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(fetch, range(FETCHES)))
    return [answer for answer, _ in found], sum(known for _, known in found)


def _killed_between_commit_and_answer(doomed, other, before):
    """An edge is killed while it issues. What it committed is issued to no one else."""
    batches.prepare_batches(seed=SEED, now=timezone.now())
    issued_before = TipAddress.objects.filter(issued_at__isnull=False).count()
    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(_fetch_until_dead, doomed) for _ in range(8)]
        while TipAddress.objects.filter(issued_at__isnull=False).count() < issued_before + 40:
            assert any(not each.done() for each in running)
        doomed.kill()
        answered = [address for each in running for address in each.result()]
    issued = {
        str(Pubkey.from_bytes(bytes(pubkey)))
        for pubkey in TipAddress.objects.filter(issued_at__isnull=False).values_list(
            "pubkey", flat=True
        )
    }
    assert before | set(answered) <= issued
    lost = issued - before - set(answered)
    after = []
    for _ in range(10):
        status, answer = other.get("/priority/fetchtipaddress?count=16")
        assert status == 200, answer
        after += answer["addresses"]
    everybodys = [*before, *answered, *after]
    assert len(everybodys) == len(set(everybodys))
    assert not lost & set(after)
    # What was lost on the way is good all the same, should its holder have read it.
    for address in lost:
        assert other.get(f"/priority/tipaddress/{address}")[1]["valid"]


def _fetch_until_dead(server):
    addresses = []
    with suppress(OSError, http.client.HTTPException):
        while True:
            status, answer = server.get("/priority/fetchtipaddress?count=2")
            if status == 200:
                addresses += answer["addresses"]
    return addresses
