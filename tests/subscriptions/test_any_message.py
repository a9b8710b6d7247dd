"""Whatever a client sends, it is answered or disconnected, and others are served."""

import json
import socket as sockets
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from subscriptions.methods import methods
from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket
from tests.webserver.raw_socket import HEAD

NAMES = sorted(method.name for method in methods)
KEYS = st.sampled_from(
    (
        "commitment",
        "encoding",
        "filters",
        "dataSlice",
        "mentions",
        "memcmp",
        "offset",
        "dataSize",
        "fromSlot",
        "fromSignature",
        "transactionDetails",
        "mentionsAccountOrProgram",
    )
)
WORDS = st.sampled_from(
    ("all", "processed", "finalized", "base64", "11111111111111111111111111111111", "", "\ud7ff")
)
NUMBERS = st.integers(-1, 2**65) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture
def socket(served: Served) -> Iterator[Socket]:
    with served.socket() as found:
        yield found


def test_any_params_get_a_number_or_a_typed_error(socket: Socket) -> None:
    @settings(max_examples=200)
    @given(st.sampled_from(NAMES), st.lists(values, max_size=3))
    def ask(method: str, params: list[object]) -> None:
        answer = socket.answer(method, *params)
        if "error" in answer:
            assert answer["error"]["code"] in (-32602, -32603, -32016)
            assert answer["error"]["data"]["reason"] not in ("internal_error", "invalid_request")
        elif method.endswith("Subscribe"):
            assert socket.call(method.replace("Subscribe", "Unsubscribe"), answer["result"])
        socket.kept.clear()

    ask()


def test_any_text_gets_an_error_or_nothing(socket: Socket) -> None:
    @settings(max_examples=100)
    @given(st.text(max_size=200) | st.binary(max_size=200) | values.map(json.dumps))
    def say(text: str | bytes) -> None:
        socket.send(text)
        assert socket.call("slotUnsubscribe", socket.call("slotSubscribe"))
        socket.kept.clear()

    say()


def test_any_frames_leave_others_alone(served: Served) -> None:
    head = f"{HEAD}Authorization: {served.key}\r\n\r\n".encode()
    frames = st.builds(
        lambda first, data, mask: (
            bytes((first, (0x80 if mask else 0) | len(data))) + (bytes(4) if mask else b"") + data
        ),
        st.integers(0, 255) | st.sampled_from((0x81, 0x01, 0x80, 0x88, 0x89)),
        st.binary(max_size=125),
        st.booleans(),
    )
    pieces = st.lists(frames | st.binary(max_size=40), min_size=1, max_size=6)

    @settings(max_examples=60)
    @given(pieces)
    def send(found: list[bytes]) -> None:
        with sockets.create_connection(("127.0.0.1", served.port)) as raw:
            raw.settimeout(PATIENCE_SECONDS)
            raw.sendall(head)
            assert raw.recv(65_536).startswith(b"HTTP/1.1 101 ")
            for piece in found:
                try:
                    raw.sendall(piece)
                except ConnectionError:
                    break

    with served.socket() as other:
        number = other.call("rootSubscribe")
        send()
        other.result(number)
        # A message above the maximum ends its own connection.
        with served.socket() as large:
            with pytest.raises(ConnectionClosed) as closed:
                large.send("x" * 70_000)
                large.receive()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
        other.result(number)
