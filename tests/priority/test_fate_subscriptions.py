"""fatesSubscribe: fates by WebSocket at /priority, and what was missed."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from access.services import keys
from priority.fates.services import announcing
from priority.fates.services.announcing import announce
from priority.fates.services.events import Place
from shared_state.redis_client import client
from tests.priority.fate_streams import FateServer, serving
from tests.priority.submitted import landed, signature, stored
from tests.priority.test_fate_stream import Issue, change, clean, issuing
from tests.subscriptions.socket_client import Socket

pytestmark = pytest.mark.django_db

Elsewhere = Callable[..., Any]


@pytest.fixture(scope="module")
def elsewhere(django_db_setup: None, django_db_blocker: Any) -> Iterator[Elsewhere]:
    """As of the event stream's tests: outside the test's transaction."""
    with django_db_blocker.unblock(), ThreadPoolExecutor(1) as thread:
        yield lambda function, *args, **options: thread.submit(function, *args, **options).result()
        thread.submit(clean).result()


@pytest.fixture
def issue(elsewhere: Elsewhere) -> Issue:
    return issuing(elsewhere)


@pytest.fixture
def server(forgetful: None, elsewhere: Elsewhere) -> Iterator[FateServer]:
    with serving() as server:
        yield server


def socket(server: FateServer, issued: keys.IssuedKey) -> Socket:
    return Socket(f"ws://127.0.0.1:{server.port}/priority", issued.secret)


def begin(socket: Socket, config: dict[str, Any] | None = None) -> tuple[int, list[Any], str]:
    """The subscription's number, what came before it was ready, and its place then."""
    number = socket.call("fatesSubscribe", *([] if config is None else [config]))
    found = []
    while True:
        notice = socket.notice(number)
        if notice["method"] == "readyNotification":
            return number, found, notice["params"]["eventId"]
        found.append(notice)


def told(notices: list[Any]) -> list[tuple[str, str]]:
    assert {each["method"] for each in notices} <= {"fatesNotification"}
    results = [each["params"]["result"] for each in notices]
    return [(each["signature"], each["state"]) for each in results]


def test_fates_come_to_their_customer_alone_and_once_behind_an_event(
    server: FateServer, issue: Issue
) -> None:
    mine, other = issue(), issue()
    with socket(server, mine) as first, socket(server, other) as theirs:
        number, before, _ = begin(first)
        begin(theirs)
        assert not before
        announce([change(other.key.pk, 9), *(change(mine.key.pk, n) for n in (1, 2))])
        notices = [first.notice(number) for _ in range(2)]
        assert told(notices) == [(str(signature(n)), "sent") for n in (1, 2)]
        params = notices[0]["params"]
        assert set(params) == {"result", "subscription", "eventId"}
        assert set(params["result"]) >= {"signature", "state", "final", "slot", "at"}
        assert first.call("fatesUnsubscribe", number) is True
        assert first.error("slotSubscribe")["code"] == -32601
    announce([change(mine.key.pk, 3)])
    with socket(server, mine) as again:
        number, missed, place = begin(again, {"fromEvent": params["eventId"]})
        assert told(missed) == [(str(signature(n)), "sent") for n in (2, 3)]
        announce([change(mine.key.pk, 4)])
        notice = again.notice(number)
        assert told([notice]) == [(str(signature(4)), "sent")]
        assert notice["params"]["eventId"] > place
        one = {"signatures": [str(signature(3))], "fromEvent": params["eventId"]}
        assert told(begin(again, one)[1]) == [(str(signature(3)), "sent")]


def test_who_was_away_for_longer_reads_what_has_become_of_each(
    server: FateServer, issue: Issue, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subscriptions import fates

    monkeypatch.setattr(fates, "_ROWS_AT_ONCE", 2)
    mine = issue()
    for number in (11, 12, 13):
        elsewhere(landed, mine.key, number)
    elsewhere(stored, mine.key, 14)
    elsewhere(stored, issue().key, 15)
    expected = [
        *((str(signature(n)), "landed") for n in (12, 13)),
        (str(signature(14)), "received"),
    ]
    with socket(server, mine) as reader:
        _, missed, _ = begin(reader, {"fromSignature": str(signature(11))})
        assert told(missed) == expected
        assert {each["params"]["eventId"] for each in missed} == {None}
        # What was announced so long ago is not kept.
        hours = timedelta(seconds=3 * announcing.KEPT_SECONDS)
        moment = int((datetime.now(UTC) - hours).timestamp() * 1_000)
        _, found, _ = begin(reader, {"fromEvent": str(Place(moment, 0))})
        gap = found.pop(0)
        assert gap["method"] == "gapNotification"
        assert gap["params"]["result"] == {"reason": "not_kept", "since": f"{moment}-0"}
        assert told(found) == [(str(signature(11)), "landed"), *expected]
        _, (gap,), _ = begin(reader, {"fromSignature": str(signature(15))})
        assert gap["params"]["result"] == {"reason": "from_signature_unknown"}


def test_bad_params_are_named(server: FateServer, issue: Issue) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"fromEvent": "yesterday"}, "fromEvent is not the eventId"),
        ({"fromSignature": "x"}, "Invalid signature provided"),
        ({"signatures": ["x"]}, "Invalid signature provided"),
        ({"signatures": [str(signature(1))] * 257}, "Too many signatures"),
        ({"fromEvent": "1-0", "fromSignature": str(signature(1))}, "exclude each other"),
    ]
    with socket(server, issue()) as reader:
        for config, text in wrong:
            error = reader.error("fatesSubscribe", config)
            assert error["code"] == -32602 and text in error["message"]


def test_a_lost_redis_ends_the_connection_so_that_it_begins_again(
    server: FateServer, issue: Issue
) -> None:
    mine = issue()
    with socket(server, mine) as reader:
        begin(reader)
        announce([change(mine.key.pk, 1)])
        client().delete(announcing.LIVE_STREAM)
        ended = threading.Event()

        def lose_most() -> None:
            """A server that is quick enough reads some of them before they are lost."""
            while not ended.is_set():
                announce([change(mine.key.pk, 2)])
                client().xtrim(announcing.LIVE_STREAM, maxlen=0)

        losing = threading.Thread(target=lose_most)
        losing.start()
        try:
            end = reader.find(lambda message: message.get("method") == "endNotification")
        finally:
            ended.set()
            losing.join()
        assert end["params"]["reason"] == "missed_some"
