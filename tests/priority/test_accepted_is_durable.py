"""What was answered with a signature is there after Valkey was killed in the midst of accepting."""

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from solders.hash import Hash

from chain.transactions import decode_wire
from embedded.addresses import embedded_addresses, valkey_folder
from embedded.servers import Servers, start_servers, stop_servers
from embedded.valkey import sync_to_disk
from eventloop.faces import complete
from gateway.outages import ServiceOutage
from gateway.transactions import Signed
from priority.acceptance.errors import QueueUnavailable
from priority.acceptance.services.accepting import Bounds, Origin, Wishes, accept_transaction
from priority.acceptance.services.tips import TipRules
from priority.queue.store import Limits
from priority.submissions import ACCEPTED_STREAM, FIELD, unpack
from shared_state import script_socket
from tests.patience import PATIENCE_SECONDS
from tests.priority.sending import signature, signed, static_address, tip

_THREADS = 4


@pytest.fixture
def servers(settings: Any) -> Iterator[Servers]:
    """A Valkey as `make run` starts it, which is this process's Redis."""
    run_dir = Path(tempfile.mkdtemp(prefix="tidemark-durable-"))
    running = start_servers(run_dir, postgres=False)
    settings.REDIS_URL = embedded_addresses(run_dir).redis_url
    script_socket.forget()
    yield running
    stop_servers(running)
    script_socket.forget()
    shutil.rmtree(run_dir, ignore_errors=True)


def test_every_accepted_entry_survives_a_killed_valkey(servers: Servers, settings: Any) -> None:
    transactions = [signed(tip(), blockhash=Hash.new_unique()) for _ in range(2_000)]
    offers = [Signed(bytes(each), decode_wire(bytes(each))) for each in transactions]
    rules = TipRules(frozenset({bytes(static_address())}), 1_000_000, 1_000_000)
    bounds = Bounds(rules, 1_000_000, 600, Limits(slots=0))
    answered: list[str] = []
    unsure: list[Signed] = []
    enough = threading.Event()

    def accept(mine: list[Signed]) -> None:
        for offered in mine:
            origin = Origin(time.time(), 1, "basic", "edge-1", "request")
            try:
                receipt = complete(
                    accept_transaction(offered, origin, wishes=Wishes(), bounds=bounds, at="[0]")
                )
            except (QueueUnavailable, ServiceOutage):
                unsure.append(offered)
            else:
                answered.append(receipt.name)
            if len(answered) > 300:
                enough.set()

    with ThreadPoolExecutor(_THREADS) as threads:
        work = [threads.submit(accept, offers[place::_THREADS]) for place in range(_THREADS)]
        assert enough.wait(PATIENCE_SECONDS)
        (valkey,) = servers.running
        valkey.process.kill()
        valkey.process.wait()
        for each in work:
            each.result()
    assert unsure, "it was killed too late"
    # These are what is brought to the disk once a second.
    assert list(valkey_folder(servers.run_dir).glob("appendonlydir/*.incr.aof"))
    sync_to_disk(servers.run_dir)
    valkey.process = valkey.start()
    script_socket.forget()
    # What was refused, or not answered, is sent again: none is there twice.
    accept(unsure)
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        entries: Any = client.xrange(ACCEPTED_STREAM)
    found = [unpack(fields[FIELD.encode()]).wires[0] for _, fields in entries]
    assert len(found) == len(set(found))
    assert set(answered) == {signature(each) for each in transactions}
    assert set(found) == {bytes(each) for each in transactions}
