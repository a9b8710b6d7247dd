"""What callers are told while the database or Redis is away, or full."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import redis
from django.db import DatabaseError, OperationalError, connection

from gateway.outages import DatabaseFull, outage_of
from shared_state.script_socket import RedisAway
from tests.readiness import readyz
from tests.unwritable_database import crowded_database


@pytest.fixture
def database_away(
    transactional_db: None, api_key: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A key that this process knows already; no new connection can be made."""
    for _ in range(2):
        assert post(client, "/historical", api_key, "getFirstAvailableBlock").status_code == 200
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")
    yield api_key
    monkeypatch.undo()


def post(client: Any, path: str, key: str, *methods: str) -> Any:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": []}
        for number, method in enumerate(methods)
    ]
    return client.post(
        path,
        json.dumps(calls if len(calls) > 1 else calls[0]),
        content_type="application/json",
        headers={"Authorization": key, "Host": "localhost"},
    )


def test_a_call_names_the_database_and_when_to_come_again(
    client: Any, database_away: str, caplog: Any
) -> None:
    answer = post(client, "/historical", database_away, "getFirstAvailableBlock")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (200, -32005)
    assert error["data"] == {"reason": "database_unavailable", "retryAfterSeconds": 2}
    assert answer["Retry-After"] == "2"
    assert b"nonexistent" not in answer.content
    assert [each.exc_info for each in caplog.records if each.name == "jsonrpc.dispatch"] == [None]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("nothing_remembered")
def test_a_server_without_free_connections_is_named(client: Any, api_key: str) -> None:
    with crowded_database():
        status, found = readyz(client)
        answer = post(client, "/historical", api_key, "getFirstAvailableBlock").json()
    check = found["checks"]["database"]
    assert (status, check["cause"]) == (503, "database_unavailable")
    assert check["why"].startswith("PostgreSQL has no connection left")
    assert answer["error"]["data"]["reason"] == "database_unavailable"
    assert readyz(client)[1]["checks"]["database"]["ok"]


def test_each_call_of_a_batch_names_it(client: Any, database_away: str) -> None:
    answer = post(client, "/historical", database_away, "getFirstAvailableBlock", "nonsense")
    first, second = (each["error"] for each in answer.json())
    assert first["data"]["reason"] == "database_unavailable"
    assert second["data"]["reason"] == "method_not_found"


def of(kind: type[psycopg.Error], text: str = "") -> DatabaseError:
    """As Django passes it on."""
    error = OperationalError(text)
    error.__cause__ = kind(text)
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (of(psycopg.OperationalError), "database_unavailable"),
        (psycopg.InterfaceError("the connection is closed"), "database_unavailable"),
        (of(psycopg.errors.AdminShutdown), "database_unavailable"),
        (of(psycopg.errors.DiskFull), "database_full"),
        (psycopg.errors.DiskFull("no space left"), "database_full"),
        (redis.ConnectionError("refused"), "redis_unavailable"),
        (redis.TimeoutError("timed out"), "redis_unavailable"),
        (redis.BusyLoadingError("LOADING"), "redis_unavailable"),
        (redis.ResponseError("LOADING Valkey is loading the dataset"), "redis_unavailable"),
        (redis.ResponseError("READONLY You can't write"), "redis_unavailable"),
        (RedisAway("LOADING Valkey is loading the dataset in memory"), "redis_unavailable"),
        (redis.ResponseError("MISCONF Errors writing to the AOF file"), "redis_full"),
        (redis.OutOfMemoryError("OOM command not allowed"), "redis_full"),
        (RedisAway("OOM command not allowed when used memory > 'maxmemory'."), "redis_full"),
        (RedisAway("MISCONF Errors writing to the AOF file"), "redis_full"),
        (RedisAway("timed out"), "redis_unavailable"),
        (of(psycopg.errors.ReadOnlySqlTransaction), "database_read_only"),
        (of(psycopg.errors.LockNotAvailable), "database_busy"),
        (psycopg.errors.DeadlockDetected("deadlock"), "database_busy"),
        (of(psycopg.errors.SerializationFailure), "database_busy"),
        (psycopg.errors.InternalError_("write: Disk quota exceeded"), "database_full"),
        (psycopg.errors.InsufficientPrivilege("x: Read-only file system"), "database_read_only"),
    ],
)
def test_what_is_away_or_full_has_a_name(error: Exception, reason: str) -> None:
    found = outage_of(error)
    assert found is not None and found.reason == reason


def test_a_statement_that_ends_by_its_time_in_a_cluster_waited_for_a_node(settings: Any) -> None:
    settings.ARCHIVE_CLUSTER = "citus"
    found = outage_of(of(psycopg.errors.QueryCanceled))
    assert found is not None and found.reason == "database_unavailable"


@pytest.mark.parametrize(
    "error",
    [
        # The server answered: the statement was too slow, or is wrong.
        of(psycopg.errors.QueryCanceled),
        psycopg.errors.UndefinedTable("no such table"),
        redis.ResponseError("WRONGTYPE"),
        DatabaseError("a bug of ours"),
        ValueError("a bug of ours"),
    ],
)
def test_what_is_our_own_fault_stays_so(error: Exception) -> None:
    assert outage_of(error) is None


@pytest.mark.parametrize(
    "error",
    [
        of(psycopg.errors.DiskFull),
        of(psycopg.OperationalError),
        redis.ResponseError("MISCONF Errors writing to the AOF file"),
        RedisAway("MISCONF Errors writing to the AOF file"),
    ],
)
def test_one_full_disk_has_one_name_whichever_server_meets_it(
    error: Exception, settings: Any
) -> None:
    settings.RUN_DIR = "/proc"  # a file system without room
    found = outage_of(error)
    assert found is not None
    assert (found.reason, found.status, found.code) == ("disk_full", 503, -32005)
    assert found.headers() == {"Retry-After": "30"}


def test_a_full_disk_is_not_asked_again_at_once() -> None:
    assert DatabaseFull().headers() == {"Retry-After": "30"}
    assert DatabaseFull.status == 503
