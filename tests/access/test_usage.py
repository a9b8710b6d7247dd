"""Counting calls and rolling them up, each exactly once."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from access import store, usage
from access.models import ApiKey, UsageMinute
from access.services import usage as service
from access.tasks import roll_up_usage
from shared_state.redis_client import client
from tests.patience import PATIENCE_SECONDS

MINUTE = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
SECONDS = MINUTE.timestamp() + 17


def count(key_id: int | None, method: str = "getSlot", status: str = "ok", spent: int = 5) -> None:
    usage.count(key_id, method, status, seconds=SECONDS, microseconds=spent, address="192.0.2.7")


def rows() -> dict[tuple[Any, ...], tuple[int, int]]:
    return {
        (row.key_id, row.method, row.status, row.minute): (row.calls, row.microseconds)
        for row in UsageMinute.objects.all()
    }


@pytest.mark.django_db
def test_calls_become_rows_per_key_method_status_and_minute(issue: Callable[..., Any]) -> None:
    key = issue().key
    for _ in range(3):
        count(key.pk)
    count(key.pk, status="rate_limited")
    count(None, "getBlock")
    usage.flush()
    assert service.roll_up_usage(now=timezone.now()) == 3
    assert rows() == {
        (key.pk, "getSlot", "ok", MINUTE): (3, 15),
        (key.pk, "getSlot", "rate_limited", MINUTE): (1, 5),
        (None, "getBlock", "ok", MINUTE): (1, 5),
    }


@pytest.mark.django_db
def test_later_calls_of_the_minute_are_added_also_those_without_a_key() -> None:
    for _ in range(3):
        count(None)
        usage.flush()
        roll_up_usage()
    assert rows() == {(None, "getSlot", "ok", MINUTE): (3, 15)}


@pytest.mark.django_db
def test_nothing_counted_is_nothing_done() -> None:
    assert service.roll_up_usage(now=timezone.now()) == 0
    assert not UsageMinute.objects.exists()


@pytest.mark.django_db
def test_last_used_moves_forward_and_names_the_address(issue: Callable[..., Any]) -> None:
    key = issue().key
    count(key.pk)
    usage.flush()
    roll_up_usage()
    key.refresh_from_db()
    assert key.last_used_at == datetime.fromtimestamp(int(SECONDS), UTC)
    assert key.last_used_address == "192.0.2.7"
    store.mark_used([(key.pk, MINUTE, "192.0.2.8")])
    key.refresh_from_db()
    assert key.last_used_address == "192.0.2.7", "an older use came late"


@pytest.mark.django_db
def test_a_deleted_keys_calls_are_dropped_and_the_others_kept(issue: Callable[..., Any]) -> None:
    key = issue().key
    count(key.pk)
    count(None)
    usage.flush()
    ApiKey.objects.all().delete()
    roll_up_usage()
    assert [row.key_id for row in UsageMinute.objects.all()] == [None]


@pytest.mark.django_db
def test_a_batch_that_was_added_but_not_deleted_is_not_added_again() -> None:
    count(None)
    usage.flush()
    redis = client()
    name = f"{service.CLAIMS_KEY}:left"
    redis.rename(usage.LIVE_KEY, name)
    redis.sadd(service.CLAIMS_KEY, name)
    left = redis.dump(name)
    roll_up_usage()
    redis.restore(name, 0, left)
    redis.sadd(service.CLAIMS_KEY, name)
    roll_up_usage()
    assert rows() == {(None, "getSlot", "ok", MINUTE): (1, 5)}
    assert not redis.exists(name) and not redis.scard(service.CLAIMS_KEY)


@pytest.mark.django_db
def test_a_batch_claimed_by_a_run_that_died_is_taken_up_by_the_next() -> None:
    count(None)
    usage.flush()
    redis = client()
    redis.eval(service._CLAIM, 3, usage.LIVE_KEY, service.CLAIMS_KEY, "tidemark:usage:claim:dead")
    count(None)
    usage.flush()
    roll_up_usage()
    assert rows() == {(None, "getSlot", "ok", MINUTE): (2, 10)}


@pytest.mark.django_db(transaction=True)
def test_runs_at_the_same_time_count_once() -> None:
    def run(_: int) -> None:
        try:
            roll_up_usage()
        finally:
            connection.close()

    total = 0
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            for _ in range(20):
                count(None)
                total += 1
            usage.flush()
            list(pool.map(run, range(6)))
    assert rows() == {(None, "getSlot", "ok", MINUTE): (total, 5 * total)}


def test_a_batch_sent_twice_is_counted_once() -> None:
    count(None)
    usage._gather()
    [sent] = usage._unsent
    assert usage.flush()
    usage._unsent.append(sent)
    assert usage.flush()
    assert client().hget(usage.LIVE_KEY, "calls|" + _field()) == b"1"


def _field() -> str:
    return f"{int(SECONDS) // 60}||getSlot|ok"


def test_counts_wait_while_redis_is_away(settings) -> None:

    url = settings.REDIS_URL
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    try:
        for _ in range(3):
            count(None)
            assert not usage.flush()
    finally:
        settings.REDIS_URL = url
    assert usage.flush()
    assert client().hget(usage.LIVE_KEY, "calls|" + _field()) == b"3"


def test_threads_lose_no_count_and_the_flush_comes_by_itself() -> None:
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: count(None), range(2000)))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while client().hget(usage.LIVE_KEY, "calls|" + _field()) != b"2000":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_forked_child_sends_its_own_counts_and_not_its_parents() -> None:
    count(None)
    pid = os.fork()
    if pid == 0:
        try:
            count(None)
            usage.flush()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    usage.flush()
    assert client().hget(usage.LIVE_KEY, "calls|" + _field()) == b"2"


@pytest.mark.django_db
def test_a_minute_without_calls_is_no_news(caplog: Any) -> None:
    caplog.set_level("DEBUG", logger="access.tasks")
    roll_up_usage()
    count(None)
    usage.flush()
    roll_up_usage()
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [line for line in told if "rolled up" in line[1]] == [
        ("DEBUG", "rolled up 0 rows of usage"),
        ("INFO", "rolled up 1 rows of usage"),
    ]
