"""The cases of RFC 6455 at each endpoint that has WebSockets."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from tests.subscriptions.websocket_cases import PING, SECTIONS, TEXT, Case, Event, code
from tests.web_server import service_worker
from tests.webserver.raw_socket import Raw, frame
from tests.webserver.serving import serving


@pytest.fixture
def port(transactional_db: None, empty_redis: None) -> Iterator[int]:
    with serving(service_worker()) as port:
        yield port


@pytest.mark.parametrize("path", ["/", "/priority"])
def test_each_case_comes_back_as_the_rfc_says(
    port: int, limited: Callable[..., str], path: str
) -> None:
    key = limited(stream_connections=10_000)
    wrong = {}
    for section in SECTIONS:
        for case in section():
            with closing(Raw(port, key, path)) as raw:
                found = _exchange(raw, case)
            if found != _expected(case):
                wrong[f"{section.__name__}: {case.name}"] = found
                assert len(wrong) < 5, wrong  # some of them wait
    assert not wrong


def test_a_message_that_does_not_end_is_not_waited_for(
    port: int, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webserver.websocket._MESSAGE_SECONDS", 0.05)
    with closing(Raw(port, api_key)) as raw:
        found = _exchange(raw, Case("", [frame(TEXT, b"[")], [("close", 1008)]))
    assert found == [("end", "message_timed_out"), ("close", 1008)]


def test_a_silent_client_is_asked_whether_it_is_there(
    port: int, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webserver.websocket._PING_SECONDS", 0.05)
    with closing(Raw(port, api_key)) as raw:
        assert raw.receive() == (0x80 | PING, b"")
        monkeypatch.setattr("webserver.websocket._GONE_SECONDS", 0.05)
        with pytest.raises((EOFError, ConnectionResetError)):  # without a goodbye
            while True:
                assert raw.receive() == (0x80 | PING, b"")


def _expected(case: Case) -> list[Event]:
    return case.comes if _is_closed(case.comes) else [*case.comes, ("close", 1000)]


def _is_closed(events: list[Event]) -> bool:
    return bool(events) and events[-1][0] == "close"


def _exchange(raw: Raw, case: Case) -> list[Event]:
    """What comes until the connection ends."""
    with suppress(ConnectionError):  # the server may have had enough of it
        raw.send(*case.sent)
        if not _is_closed(case.comes):
            raw.send(code(1000))
    found: list[Event] = []
    while not _is_closed(found):
        found.append(_event(*raw.receive()))
    with suppress(ConnectionResetError):
        assert raw.is_over
    return found


def _event(first: int, data: bytes) -> Event:
    if first == 0x81:
        message = json.loads(data)
        return ("id", message["id"]) if "id" in message else ("end", message["params"]["reason"])
    if first == 0x8A:
        return "pong", data
    assert first == 0x88, (first, data)
    return "close", int.from_bytes(data[:2], "big") if data else None
