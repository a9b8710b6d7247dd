"""A bucket under a day's cap: taken from both or from neither, whoever races, whatever is away."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from subprocess import PIPE, Popen

import pytest

from access import local_buckets
from access.callers import Caller, Quota
from access.capped_buckets import DAILY_CAP, take
from shared_state import script_socket
from tests.patience import PATIENCE_SECONDS

MIDNIGHT = datetime(2030, 6, 2, tzinfo=UTC)
BEFORE = MIDNIGHT - timedelta(seconds=30)


def caller(rate=1_000.0, burst=1_000, key_id=7):
    return Caller(key_id, "basic", 10, frozenset(), (), {"tip_fetches": Quota(rate, burst)})


def unlimited(key_id):
    return Caller(key_id, "epic", 40, frozenset(), (), {})


def spend(count, cap, *, now=BEFORE, who=None):
    return [take(who or caller(), "tip_fetches", cap=cap, now=now) for _ in range(count)]


def test_the_cap_begins_anew_at_midnight():
    first = spend(4, 3)
    assert [taken.allowed for taken in first] == [True, True, True, False]
    assert [taken.remaining for taken in first] == [2, 1, 0, 0]
    assert first[-1].quota == DAILY_CAP and first[-1].limit == 3
    assert first[-1].retry_seconds == first[-1].reset_seconds == 30
    (late,) = spend(1, 3, now=MIDNIGHT - timedelta(microseconds=1))
    assert not late.allowed and late.retry_seconds == 1
    after = spend(4, 3, now=MIDNIGHT)
    assert [taken.allowed for taken in after] == [True, True, True, False]
    assert after[-1].retry_seconds == 86_400


def test_a_full_day_costs_no_token_and_an_empty_bucket_nothing_of_the_day():
    slow = caller(rate=0.001, burst=2)
    assert [taken.allowed for taken in spend(3, 1, who=slow)] == [True, False, False]
    # The two refusals by the cap left the bucket its second token.
    (taken,) = spend(1, 1, now=MIDNIGHT, who=slow)
    assert taken.allowed
    refused = spend(3, 5, now=MIDNIGHT, who=slow)
    assert [taken.quota for taken in refused] == ["tip_fetches"] * 3
    assert not any(taken.allowed for taken in refused)
    # The same key in a tier without a rate: of the day four are left.
    assert sum(taken.allowed for taken in spend(9, 5, now=MIDNIGHT, who=unlimited(7))) == 4


def test_without_a_cap_the_bucket_alone_holds():
    began = time.monotonic()
    found = spend(4, None, who=caller(rate=0.01, burst=3))
    took = time.monotonic() - began
    assert [taken.allowed for taken in found] == [True, True, True, False]
    assert [taken.remaining for taken in found] == [2, 1, 0, 0]
    assert found[-1].limit == 3 and 100 - took <= found[-1].retry_seconds <= 100


def test_without_any_limit_nothing_is_taken():
    assert take(unlimited(7), "tip_fetches", cap=None, now=BEFORE) is None
    found = spend(3, 2, who=unlimited(7))
    assert [taken.allowed for taken in found] == [True, True, False]


def test_a_cap_of_nothing_refuses_at_once():
    (taken,) = spend(1, 0)
    assert not taken.allowed and taken.quota == DAILY_CAP


def test_keyless_callers_share_one_day():
    for number in range(3):
        (taken,) = spend(1, 2, who=caller(key_id=None))
        assert taken.allowed == (number < 2)
    assert spend(1, 2, who=caller(key_id=8))[0].allowed


def test_while_redis_is_away_this_process_counts_alone(settings):
    local_buckets.forget()
    script_socket.forget()
    kept, settings.REDIS_URL = settings.REDIS_URL, "redis://127.0.0.1:1/0"
    try:
        found = spend(6, 4)
        assert [taken.allowed for taken in found] == [True] * 4 + [False] * 2
        assert found[-1].quota == DAILY_CAP and found[-1].generation is None
        assert not spend(1, 0)[0].allowed
        slow = spend(3, None, who=caller(rate=0.1, burst=2, key_id=9))
        assert [taken.allowed for taken in slow] == [True, True, False]
        assert spend(1, 4, now=MIDNIGHT)[0].allowed
    finally:
        settings.REDIS_URL = kept
        script_socket.forget()


_RACE = """
import sys
import time
sys.path[:0] = ["platform", "."]
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from access.callers import Caller, Quota
from access.capped_buckets import take
who = Caller(77, "t", 10, frozenset(), (), {"tip_fetches": Quota(0.001, int(sys.argv[1]))})
now = datetime(2030, 6, 1, tzinfo=UTC)
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(20) as pool:
    cap = int(sys.argv[2])
    found = list(pool.map(lambda _: take(who, "tip_fetches", cap=cap, now=now), range(200)))
print(sum(taken.allowed for taken in found), flush=True)
"""


@pytest.mark.parametrize(
    ("burst", "cap"), [(150, 90), pytest.param(90, 150, marks=pytest.mark.soak)]
)
def test_racing_processes_take_no_more_than_the_lesser_of_both(burst, cap):
    command = [sys.executable, "-c", _RACE, str(burst), str(cap)]
    processes = [Popen(command, stdin=PIPE, stdout=PIPE, text=True) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    with ThreadPoolExecutor(2) as pool:
        totals = list(
            pool.map(
                lambda each: int(each.communicate("go\n", timeout=PATIENCE_SECONDS)[0]), processes
            )
        )
    assert sum(totals) == 90
    # And what the lesser one refused did not cost the other: both are exactly 90 down.
    who = caller(rate=0.001, burst=burst, key_id=77)
    day = datetime(2030, 6, 1, tzinfo=UTC)
    left = spend(200, 10**6, now=day, who=who)
    assert sum(taken.allowed for taken in left) == burst - 90
    spent = 90 + burst - 90
    left = spend(200, cap, now=day, who=unlimited(77))
    assert sum(taken.allowed for taken in left) == max(0, cap - spent)
