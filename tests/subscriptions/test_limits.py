"""Who may have WebSockets, how many, and what ends one."""

import json
import socket as raw_sockets
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from django.db.models import QuerySet
from django.utils import timezone
from websockets.exceptions import ConnectionClosed, InvalidStatus

from access import key_cache, usage
from access.models import KeyDay, Tier, UsageMinute
from access.services.keys import identify, suspend_key
from access.services.usage import roll_up_usage
from subscriptions import members
from tests.historical.racing import web_server
from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket
from tests.subscriptions.test_any_message import HEAD
from webserver import websocket

# A client that does not read: the library stops reading behind so many messages.
UNREAD = {"max_queue": 16, "close_timeout": 1.0}
# Each slot sends it 131 kB, and more in base64.
LARGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "accountSubscribe",
    "params": [
        "SysvarS1otHistory11111111111111111111111111",
        {"commitment": "processed", "encoding": "base64"},
    ],
}


def refused(served: Served, key: str | None, **options: object) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as found:
        served.socket(key, **options)
    response = found.value.response
    return response.status_code, json.loads(response.body)["error"]


def ended(socket: Socket, *, reads_after: float = 0.0) -> str:
    """The reason of the notice and of the close frame, which are the same."""
    time.sleep(reads_after)
    notice = socket.find(lambda message: message.get("method") == "endNotification")
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            socket.receive()
    reason: str = notice["params"]["reason"]
    assert closed.value.rcvd is not None and closed.value.rcvd.reason == reason
    return reason


def tier_of(key: str) -> QuerySet[Tier]:
    return Tier.objects.filter(name=identify(key, now=timezone.now()).tier)


def test_a_wrong_key_is_refused_and_one_may_stand_in_the_url(served: Served) -> None:
    assert refused(served, "x") == (401, "key_malformed")
    with Socket(f"{served.url}?api_key={served.key}") as socket:
        assert socket.call("slotSubscribe") > 0
    with served.socket(None) as socket:
        assert socket.call("slotSubscribe") > 0


def test_a_key_has_so_many_sockets_and_subscriptions(
    served: Served, limited: Callable[..., str]
) -> None:
    key = limited(stream_connections=2, stream_subscriptions=3)
    with served.socket(key) as first, served.socket(key):
        assert refused(served, key) == (429, "too_many_sockets")
        numbers = [first.call("rootSubscribe") for _ in range(3)]
        error = first.error("rootSubscribe")
        assert (error["code"], error["data"]["reason"]) == (-32603, "subscription_limit_reached")
        first.call("rootUnsubscribe", numbers[0])
        assert first.call("rootSubscribe") not in numbers
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with served.socket(key) as again:
                assert again.call("rootSubscribe")
            return
        except InvalidStatus:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_keys_sockets_count_over_all_processes(
    served: Served, limited: Callable[..., str]
) -> None:
    """So a key's subscriptions are bounded, too: so many of each socket."""
    key = limited(stream_connections=3, stream_subscriptions=20)
    with web_server(1) as (address, _), ExitStack() as opened:
        other = Served(int(address.partition(":")[2]), served.localnet, key)
        sockets = [opened.enter_context(door.socket(key)) for door in (served, other, other)]
        for door in (served, other):
            assert refused(door, key) == (429, "too_many_sockets")
        for each in sockets:
            assert len({each.call("rootSubscribe") for _ in range(20)}) == 20
            error = each.error("rootSubscribe")
            assert error["data"]["reason"] == "subscription_limit_reached"


def test_what_waits_for_a_keys_sockets_is_bounded_together(
    served: Served, limited: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slowest of its sockets is ended, and no other key's."""
    monkeypatch.setattr(websocket.WebSocket, "most_waiting_bytes", 10**9)
    monkeypatch.setattr(members, "MOST_UNREAD_OF_HOLDER", 600_000)
    with served.socket(limited(), **UNREAD) as slow, served.socket() as other:
        number = other.call("rootSubscribe")
        for _ in range(20):
            slow.send(LARGE)
        assert ended(slow, reads_after=1.0) == "too_slow"
        other.result(number)


def test_pings_are_not_read_from_a_client_that_does_not_read(served: Served) -> None:
    """Their answers would be kept for it without a limit."""
    with raw_sockets.create_connection(("127.0.0.1", served.port)) as raw, served.socket() as other:
        raw.sendall(f"{HEAD}Authorization: {served.key}\r\n\r\n".encode())
        assert b"101" in raw.recv(65_536)
        raw.settimeout(0.5)
        pings = (b"\x89\xfd" + bytes(4 + 125)) * 1_000
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 200_000_000:
                sent += raw.send(pings)
        assert other.call("rootSubscribe")


def test_thousands_of_subscriptions_meet_the_limit(
    served: Served, limited: Callable[..., str]
) -> None:
    with served.socket(limited(stream_subscriptions=1_000)) as socket:
        call = {"jsonrpc": "2.0", "id": 0, "method": "signatureSubscribe", "params": ["1" * 64]}
        for number in range(2_500):
            socket.send(json.dumps({**call, "id": 100_000 + number}))
        answers = [
            socket.find(lambda message, n=number: message.get("id") == 100_000 + n)
            for number in range(2_500)
        ]
        taken = [each for each in answers if "result" in each]
        reasons = {each["error"]["data"]["reason"] for each in answers if "error" in each}
        assert (len(taken), reasons) == (1_000, {"subscription_limit_reached"})


def test_a_suspended_key_ends(served: Served, limited: Callable[..., str]) -> None:
    key = limited()
    with served.socket(key) as socket, served.socket() as other:
        socket.call("rootSubscribe")
        number = other.call("rootSubscribe")
        key_id = identify(key, now=timezone.now()).key_id
        assert key_id is not None
        suspend_key(key_id, now=timezone.now())
        assert ended(socket) == "key_suspended"
        other.result(number)
    assert refused(served, key) == (403, "key_suspended")


def test_notifications_and_bytes_have_limits(served: Served, limited: Callable[..., str]) -> None:
    key = limited(stream_notifications_per_second=1)
    with served.socket(key) as socket:
        socket.call("slotsUpdatesSubscribe")
        assert ended(socket) == "notifications_above_limit"
    key = limited(stream_bytes_per_month=2_000)
    with served.socket(key) as socket:
        socket.call("slotsUpdatesSubscribe")
        assert ended(socket) == "monthly_bytes_reached"
    assert refused(served, key) == (429, "monthly_bytes_reached")


def test_a_tier_changed_by_an_update_holds_on_open_sockets(
    served: Served, limited: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a signal, and although nothing that is known of a key is read again by itself."""
    monkeypatch.setattr(key_cache, "LONGEST_SECONDS", 24 * 3_600.0)
    keys = [limited(stream_subscriptions=100_000), limited(), limited()]
    tiers = [tier_of(key) for key in keys]
    with ExitStack() as opened:
        sockets = [opened.enter_context(served.socket(key)) for key in keys]
        number = sockets[0].call("rootSubscribe")
        tiers[0].update(stream_subscriptions=1, stream_connections=1)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "error" not in (answer := sockets[0].answer("rootSubscribe")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert answer["error"]["data"]["reason"] == "subscription_limit_reached"
        sockets[0].result(number)
        assert refused(served, keys[0]) == (429, "too_many_sockets")
        for socket in sockets[1:]:
            socket.call("slotsUpdatesSubscribe")
        tiers[1].update(stream_notifications_per_second=1)
        assert ended(sockets[1]) == "notifications_above_limit"
        tiers[2].update(stream_bytes_per_month=2_000)
        assert ended(sockets[2]) == "monthly_bytes_reached"


def test_usage_has_calls_notifications_and_bytes(
    served: Served, limited: Callable[..., str]
) -> None:
    key = limited()
    key_id = identify(key, now=timezone.now()).key_id
    with served.socket(key) as socket:
        number = socket.call("rootSubscribe")
        texts = [json.dumps(socket.notice(number), separators=(",", ":")) for _ in range(3)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        usage.flush()
        roll_up_usage(now=timezone.now())
        rows = {row.method: row for row in UsageMinute.objects.filter(key_id=key_id)}
        if "rootNotification" in rows and rows["rootNotification"].calls >= 3:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert rows["rootSubscribe"].calls == rows["subscriptions"].calls == 1
    assert rows["rootNotification"].bytes >= sum(map(len, texts))
    day = KeyDay.objects.get(key_id=key_id)
    assert day.bytes == rows["rootNotification"].bytes and day.counted == 2
    pushed = sum(row.calls for row in rows.values() if row.method.endswith("Notification"))
    assert (day.refused, day.failed, day.calls) == (0, 0, 2 + pushed)


def test_a_reader_that_is_too_slow_is_disconnected(served: Served) -> None:
    with served.socket(**UNREAD) as slow, served.socket() as other:
        number = other.call("rootSubscribe")
        # Its socket is not read, and each slot sends it megabytes.
        for _ in range(200):
            slow.send(LARGE)
        # It reads again: what was sent before, the notice, the end.
        assert ended(slow, reads_after=2.0) == "too_slow"
        other.result(number)


def test_who_still_sends_when_it_is_disconnected_reads_why(served: Served) -> None:
    with served.socket(**UNREAD) as slow:
        for _ in range(200):
            slow.send(LARGE)
        # It reads nothing and goes on sending, before the server ends it and after.
        sends_until = time.monotonic() + 2.0
        while time.monotonic() < sends_until:
            slow.send({"jsonrpc": "2.0", "id": 1, "method": "getHealth"})
            time.sleep(0.001)
        assert ended(slow) == "too_slow"


def test_frames_that_are_no_websocket_are_refused(served: Served) -> None:
    head = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Authorization: {served.key}\r\n"
    )
    for lines, expected in (
        ("Sec-WebSocket-Version: 13\r\n\r\n", b"HTTP/1.1 101 "),
        ("Sec-WebSocket-Version: 8\r\n\r\n", b"HTTP/1.1 426 "),
    ):
        with raw_sockets.create_connection(("127.0.0.1", served.port)) as raw:
            raw.settimeout(PATIENCE_SECONDS)
            # A frame that is not masked comes with the head.
            raw.sendall((head + lines).encode() + b"\x81\x02{}")
            found = b""
            while piece := raw.recv(65_536):
                found += piece
            assert found.startswith(expected)
