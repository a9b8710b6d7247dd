"""A web process that is late: a submission is judged before the process works on it."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from priority.submissions import ACCEPTED_STREAM
from shared_state.redis_client import client
from tests.historical.racing import web_server
from tests.patience import PATIENCE_SECONDS, wait
from tests.priority.sending import SENT, signed, text, tip

CONNECTIONS = 50
BOUND_MS = 400  # with the default settings, a slot
STOPPED_SECONDS = 4 * BOUND_MS / 1_000

pytestmark = pytest.mark.django_db(transaction=True)


class Submitter:
    """A kept connection that submits new transactions with a key."""

    def __init__(self, address: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
        self._headers = {"Authorization": key, "Content-Type": "application/json"}

    def send(self) -> None:
        params = [text(signed(tip())), SENT]
        call = {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": params}
        self._connection.request("POST", "/priority", json.dumps(call), self._headers)

    def answer(self) -> Any:
        """The error's data with the status and `Retry-After`; None if it was accepted."""
        response = self._connection.getresponse()
        found = json.loads(response.read())
        if "error" not in found:
            return None
        again = response.headers["Retry-After"]
        return {**found["error"]["data"], "status": response.status, "again": again}

    def submit(self) -> Any:
        self.send()
        return self.answer()

    def close(self) -> None:
        self._connection.close()


Submitters = Callable[[str, int], list[Submitter]]


@pytest.fixture
def served(transactional_db: None) -> Iterator[tuple[str, psutil.Process]]:
    """Ends before the tables are emptied: it writes usage into them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANDING_BEHIND_SLOTS", "16")
        with web_server(1) as (address, master):
            yield address, master


@pytest.fixture
def submitters(served: tuple[str, psutil.Process]) -> Iterator[Submitters]:
    """`submitters(key, 50)`: connections whose first submission was accepted."""
    made: list[Submitter] = []

    def make(key: str, count: int) -> list[Submitter]:
        new = [Submitter(served[0], key) for _ in range(count)]
        made.extend(new)
        for each in new:
            wait(lambda each=each: each.submit() is None, "it is accepted")
        return new

    yield make
    for each in made:
        each.close()


@contextmanager
def without_a_core(served: tuple[str, psutil.Process]) -> Iterator[None]:
    (worker,) = served[1].children()
    worker.suspend()
    try:
        yield
    finally:
        worker.resume()


def test_what_waited_for_a_core_is_refused_and_the_next_is_accepted(
    served: tuple[str, psutil.Process], submitters: Submitters, api_key: str
) -> None:
    senders = submitters(api_key, CONNECTIONS)
    before = client().xlen(ACCEPTED_STREAM)
    with without_a_core(served):
        for each in senders:
            each.send()
        time.sleep(STOPPED_SECONDS)
    refused = [found for each in senders if (found := each.answer()) is not None]
    assert len(refused) > CONNECTIONS / 2
    for found in refused:
        assert (found["status"], found["reason"]) == (503, "landing_behind")
        assert found["found"] > found["maximum"] == BOUND_MS
        assert found["again"] == str(found["retryAfterSeconds"])
        assert 2 <= found["retryAfterSeconds"] <= 30
    # Whole milliseconds, of another clock.
    assert max(found["found"] for found in refused) > 990 * STOPPED_SECONDS
    accepted = CONNECTIONS - len(refused)
    assert client().xlen(ACCEPTED_STREAM) == before + accepted, "what is refused is not queued"
    wait(lambda: senders[0].submit() is None, "the process is not late any more")


def test_a_flood_of_one_tier_does_not_exclude_another(
    served: tuple[str, psutil.Process], submitters: Submitters, issue: Any, tier: Any
) -> None:
    unlimited = {"requests_per_second": None}
    flood = submitters(issue(tier=tier("flooding", 40, **unlimited)).secret, CONNECTIONS)
    (other,) = submitters(issue(tier=tier("quiet", **unlimited)).secret, 1)
    with without_a_core(served):
        for each in flood:
            each.send()
        other.send()
        time.sleep(STOPPED_SECONDS)
    assert other.answer() is None
    refused = Counter(found and found["reason"] for each in flood for found in [each.answer()])
    assert refused["landing_behind"] > CONNECTIONS / 2


def test_beside_many_slow_reads_each_submission_is_answered(
    served: tuple[str, psutil.Process], submitters: Submitters, api_key: str
) -> None:
    """Reads in threads hold the interpreter's lock, which the event loop needs for each socket.
    While ten submissions are answered each reader gets a few answers.
    """
    senders = submitters(api_key, 10)
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "getVersion"}] * 100
    body, is_over, read = json.dumps(calls), threading.Event(), Counter[int]()

    def read_on() -> None:
        connection = http.client.HTTPConnection(served[0], timeout=PATIENCE_SECONDS)
        headers = {"Authorization": api_key, "Content-Type": "application/json"}
        while not is_over.is_set():
            connection.request("POST", "/historical", body, headers)
            response = connection.getresponse()
            response.read()
            read[response.status] += 1

    readers = [threading.Thread(target=read_on) for _ in range(12)]
    for each in readers:
        each.start()
    try:
        wait(lambda: read[200] >= len(readers), "they read")
        answers, reads = [], []
        for _ in range(10):
            before = read[200]
            for each in senders:
                each.send()
            answers += [each.answer() for each in senders]
            reads.append(read[200] - before)
    finally:
        is_over.set()
        for each in readers:
            each.join()
    reasons = Counter(found and found["reason"] for found in answers)
    assert set(reasons) <= {None, "landing_behind"}
    assert reasons[None]
    assert sorted(reads)[len(reads) // 2] <= 6 * len(readers)
