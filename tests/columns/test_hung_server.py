"""A PostgreSQL that hangs: whoever waits for it is told so, and all goes on once it answers."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from columns.advisory_locks import AdvisoryLock, HeldLock
from columns.raw_queries import close_lost_connection
from tests.network import Network, network_to
from tests.patience import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered", "empty_ledger"),
]
ADDRESS = "Vote111111111111111111111111111111111111111"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    """The way by which connections made from now on reach the database."""
    settings = connection.settings_dict
    connection.close()
    is_path = settings["HOST"].startswith("/")
    server = f"{settings['HOST']}/.s.PGSQL.{settings['PORT']}" if is_path else settings["PORT"]
    with network_to(server if is_path else int(server)) as found:
        with monkeypatch.context() as patch:
            patch.setitem(settings, "HOST", "127.0.0.1")
            patch.setitem(settings, "PORT", str(found.port))
            yield found
        becomes(can_connect, True)


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """One, with a database connection of its own."""
    with ThreadPoolExecutor(1) as found:
        yield found
        found.submit(connections.close_all).result()


def can_connect() -> bool:
    connection.close()
    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


def becomes(what: Callable[[], Any], expected: Any) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while (found := what()) != expected:
        assert time.monotonic() < until, found
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("path", "method", "params"),
    [
        pytest.param("/historical", "getSignaturesForAddress", [ADDRESS], id="raw query"),
        pytest.param("/priority", "getTransactionFates", [["1" * 64]], id="ORM"),
    ],
)
def test_a_call_that_waits_is_refused(
    client: Any,
    api_key: str,
    network: Network,
    thread: ThreadPoolExecutor,
    path: str,
    method: str,
    params: Any,
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def posted() -> Any:
        close_lost_connection()  # as the server does before each request
        headers = {"Authorization": api_key}
        return client.post(path, body, content_type="application/json", headers=headers).json()

    def reason() -> str:
        answer = thread.submit(posted).result(PATIENCE_SECONDS)
        return str(answer["error"]["data"]["reason"]) if "error" in answer else "none"

    assert reason() == "none"
    with network.hanging():
        assert reason() == "database_unavailable"
        assert reason() == "database_unavailable"
    becomes(reason, "none")


def test_a_lock_that_is_held_is_given_up(network: Network, thread: ThreadPoolExecutor) -> None:
    lock = HeldLock(AdvisoryLock.FOLLOWER, 7)
    assert lock.take()
    with network.hanging(), pytest.raises(Exception, match="server"):
        thread.submit(lock.check).result(PATIENCE_SECONDS)
    lock.release()


def test_a_long_statement_of_a_server_that_answers_goes_on(network: Network) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 7 FROM pg_sleep(5)")
        assert cursor.fetchone() == (7,)
