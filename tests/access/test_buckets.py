"""Token buckets: exact over threads, patient with batches, and still there when Redis is not."""

import contextlib
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from access import buckets, local_buckets
from access.callers import Caller, Quota
from shared_state import script_socket
from shared_state.redis_client import client
from tests.examples import examples

_numbers = iter(range(1, 1_000_000))


def plan(rate: float, burst: int, **more: Quota) -> buckets.Plan:
    """The plan of a caller whom no test saw before."""
    quotas = {"requests": Quota(rate, burst), **more}
    caller = Caller(next(_numbers), "t", 10, frozenset(), (), quotas)
    made = buckets.plan_of(caller, next(iter(more), "requests"))
    assert made is not None
    return made


@pytest.fixture
def redis_away(settings) -> Iterator[None]:
    script_socket.forget()
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    yield
    script_socket.forget()


def test_a_full_bucket_gives_its_burst_and_then_tells_when_to_come_back() -> None:
    slow, began = plan(0.01, 3), time.monotonic()
    assert [buckets.take(slow).remaining for _ in range(3)] == [2, 1, 0]
    refused = buckets.take(slow)
    assert not refused.allowed
    assert (refused.limit, refused.remaining, refused.quota) == (3, 0, "requests")
    took = time.monotonic() - began
    assert 100 - took <= refused.retry_seconds <= 100
    assert 300 - took <= refused.reset_seconds <= 300


def test_the_bucket_fills_again_at_its_rate() -> None:
    quick, started = plan(20, 2), time.monotonic()
    taken = refused = 0
    while taken < 10:
        if buckets.take(quick).allowed:
            taken += 1
        else:
            refused += 1
    # Eight of them came at 20 a second.
    assert refused and time.monotonic() - started >= 8 / 20


def test_a_batch_above_the_burst_passes_when_the_bucket_is_full_and_is_paid_off_later() -> None:
    slow, began = plan(0.1, 5), time.monotonic()
    assert buckets.take(slow, 20).allowed
    refused = buckets.take(slow, 1)
    assert not refused.allowed and refused.remaining == 0
    # 15 in debt and 1 wanted, at 0.1 a second.
    assert 160 - (time.monotonic() - began) <= refused.retry_seconds <= 160
    other = plan(0.1, 5)
    buckets.take(other, 1)
    assert not buckets.take(other, 20).allowed, "it was not full"


def test_one_call_takes_from_all_its_buckets_or_from_none() -> None:
    both = plan(0.1, 10, bundles=Quota(0.1, 1))
    first = buckets.take(both)
    assert first.allowed and first.quota == "bundles" and first.limit == 1
    refused = buckets.take(both)
    assert not refused.allowed and refused.quota == "bundles"
    key, _rate, _burst = both.buckets[0]
    alone = plan(0.1, 10)
    alone.buckets[0] = (key, 0.1, 10)
    caller_id = key.split(":")[-2]
    requests_only = buckets.plan_of(
        Caller(int(caller_id), "t", 10, frozenset(), (), {"requests": Quota(0.1, 10)}), "requests"
    )
    assert requests_only is not None
    assert buckets.take(requests_only).remaining == 8, "the refused call cost nothing"


def test_what_has_no_rate_has_no_plan() -> None:
    free = Caller(next(_numbers), "t", 10, frozenset(), (), {"bundles": Quota(1, 1)})
    assert buckets.plan_of(free, "requests") is None
    limited = buckets.plan_of(free, "bundles")
    assert limited is not None and limited.names == ["bundles"]


def test_keyless_callers_share_a_quotas_bucket_but_not_their_requests() -> None:
    quotas = {"requests": Quota(1, 1), "tip_fetches": Quota(0.1, 2)}
    shared = [
        buckets.plan_of(Caller(None, "anonymous", 0, frozenset(), (), quotas), "tip_fetches")
        for _ in range(2)
    ]
    taken = [buckets.take(plan) for plan in shared * 2 if plan is not None]
    assert [one.allowed for one in taken] == [True, True, False, False]
    assert {one.quota for one in taken} == {"tip_fetches"}


@pytest.mark.parametrize(
    ("rate", "burst"),
    [
        (50, 20),
        pytest.param(100, 40, marks=pytest.mark.soak),
        pytest.param(200, 200, marks=pytest.mark.soak),
        (2000, 500),
    ],
)
def test_two_hundred_racing_threads_never_get_more_than_the_limit(rate: int, burst: int) -> None:
    raced = plan(rate, burst)
    started = time.monotonic()
    end = started + 1.0

    def run(_: int) -> int:
        taken = 0
        while time.monotonic() < end:
            taken += buckets.take(raced).allowed
        return taken

    with ThreadPoolExecutor(200) as pool:
        total = sum(pool.map(run, range(200)))
    took = time.monotonic() - started
    assert total <= burst + rate * took
    assert total >= 0.5 * burst


def test_a_burst_on_one_connection_is_served_to_its_last_token() -> None:
    big = plan(0.001, 500)
    allowed = [buckets.take(big).allowed for _ in range(510)]
    assert sum(allowed) == 500
    assert allowed == sorted(allowed, reverse=True)


def test_a_busy_key_seldom_asks_redis_and_a_calm_one_always_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0
    ask = script_socket.ask

    def counted(message: bytes) -> list[int]:
        # Redis' own count is of all workers of the tests.
        nonlocal asked
        asked += 1
        return ask(message)

    monkeypatch.setattr(script_socket, "ask", counted)
    busy = plan(100_000, 100_000)
    for _ in range(640):
        assert buckets.take(busy).allowed
    assert 0 < asked < 64
    calm, before = plan(10, 15), asked
    for _ in range(15):
        buckets.take(calm)
    assert asked - before == 15


def test_a_lease_outlived_is_not_spent() -> None:
    busy = plan(100_000, 100_000)
    while not busy.prefetched.left:
        buckets.take(busy)
    time.sleep(0.21)
    assert buckets.take(busy).generation is not None, "Redis was asked again"


@pytest.mark.usefixtures("own_redis")
def test_redis_forgetting_the_script_changes_nothing() -> None:
    slow = plan(0.1, 5)
    buckets.take(slow)
    client().script_flush()
    assert buckets.take(slow).remaining == 3


@pytest.mark.usefixtures("own_redis")
def test_a_connection_that_redis_closed_is_replaced_unnoticed() -> None:
    slow = plan(0.1, 5)
    assert buckets.take(slow).generation is not None
    client().execute_command("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal")
    again = buckets.take(slow)
    assert again.generation is not None and again.remaining == 3


def test_without_redis_the_process_limits_alone(redis_away: None) -> None:
    slow = plan(0.01, 3)
    taken = [buckets.take(slow) for _ in range(50)]
    assert sum(one.allowed for one in taken) == 3
    assert taken[-1].retry_seconds >= 1 and taken[-1].generation is None


def test_redis_is_tried_again_after_a_second(settings) -> None:
    slow, url = plan(0.1, 9), settings.REDIS_URL
    script_socket.forget()
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    assert buckets.take(slow).generation is None
    settings.REDIS_URL = url
    away_until = script_socket._away_until
    at_once = buckets.take(slow).generation
    assert at_once is None or time.monotonic() > away_until, "not at once"
    time.sleep(script_socket.AWAY_SECONDS)
    assert buckets.take(slow).generation is not None


def test_a_silent_redis_costs_one_short_wait(settings) -> None:
    # pytest's own temporary folders are too deep for a socket's path.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{folder}/silent.sock")
        silent.listen(100)
        script_socket.forget()
        settings.REDIS_URL = f"unix://{folder}/silent.sock"
        started = time.monotonic()
        taken = [buckets.take(plan(1, 1)) for _ in range(100)]
        seconds = time.monotonic() - started
        silent.setblocking(False)
        tries = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
                tries += 1
    # Not one for each of them: after a try that failed there is none for a second.
    assert 1 <= tries <= 1 + seconds / script_socket.AWAY_SECONDS
    script_socket.forget()
    assert all(one.generation is None for one in taken)


@given(st.floats(0.01, 1e6), st.integers(1, 10**6), st.lists(st.integers(1, 100), max_size=20))
@settings(max_examples=examples(60))
def test_redis_and_the_local_guard_decide_alike(rate: float, burst: int, costs: list[int]) -> None:
    shared = plan(rate, burst)
    local = [("x", rate, burst)]
    local_buckets.forget()
    for cost in costs:
        there = buckets.take(shared, cost)
        refused, _wait, _remaining = local_buckets.take(local, cost)
        if rate < 1:  # with higher rates the time between the two decides
            assert there.allowed == (not refused)
        assert 0 <= there.remaining <= burst
        assert there.retry_seconds >= (0 if there.allowed else 1)


def test_the_local_guard_forgets_the_oldest_first() -> None:
    local_buckets.forget()
    for number in range(local_buckets.MAX_BUCKETS + 5):
        local_buckets.take([(str(number), 1.0, 1)], 1)
    assert len(local_buckets._full_at) == local_buckets.MAX_BUCKETS
    assert local_buckets.take([("0", 1.0, 1)], 1)[0] == 0
    assert local_buckets.take([(str(local_buckets.MAX_BUCKETS), 1.0, 1)], 1)[0] == 1
