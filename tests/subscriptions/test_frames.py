"""Frames, each with the answer or the close code that RFC 6455 demands; by a socket and aiohttp."""

import asyncio
import json
import socket as sockets
import struct
import threading
import time
from contextlib import closing, suppress

import aiohttp
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket
from tests.webserver.raw_socket import HEAD, Raw, frame

CALL = b'{"jsonrpc":"2.0","id":7,"method":"slotUnsubscribe","params":[1]}'
LARGE = 2**70


BAD = {
    "no mask": ([frame(0x81, CALL, masked=False)], 1002),
    "continues nothing": ([frame(0x80, CALL)], 1002),
    "begins within another": ([frame(0x01, b"{"), frame(0x81, CALL)], 1002),
    "a reserved bit": ([frame(0xC1, CALL)], 1002),
    "a reserved opcode": ([frame(0x83, b"")], 1002),
    "a reserved control opcode": ([frame(0x8B, b"")], 1002),
    "a ping in parts": ([frame(0x09, b"")], 1002),
    "a long ping": ([frame(0x89, bytes(126))], 1002),
    "half of a close code": ([frame(0x88, b"\x03")], 1002),
    "a code not to be sent": ([frame(0x88, struct.pack(">H", 1005))], 1002),
    "text that is not UTF-8": ([frame(0x81, b'"\xff"')], 1007),
    "a letter that is not whole": ([frame(0x01, b'"\xc3'), frame(0x80, b'("')], 1007),
    "a message that is too long": ([frame(0x01, bytes(60_000)), frame(0x00, bytes(9_000))], 1009),
    "a message in too many frames": ([frame(0x01, b"["), frame(0x00) * 2_000], 1009),
    "good bye": ([frame(0x88, struct.pack(">H", 1000))], 1000),
}


def test_a_frame_that_must_not_be_ends_with_its_code(served: Served) -> None:
    found = {}
    with served.socket() as other:
        for name, (parts, _) in BAD.items():
            with closing(Raw(served.port, served.key)) as raw:
                raw.send(*parts)
                found[name] = raw.code()
            assert other.call("slotUnsubscribe", other.call("slotSubscribe"))
    assert found == {name: code for name, (_, code) in BAD.items()}


HANDSHAKES = {
    "HTTP/1.0": (("HTTP/1.1", "HTTP/1.0"), 400),
    "no upgrade of the connection": (("Connection: Upgrade", "Connection: close"), 400),
    "a short key": (("AAAAAAAAAAAAAAAAAAAAAA==", "AAAA"), 400),
    "a key that is not base64": (("AAAAAAAAAAAAAAAAAAAAAA==", "?" * 24), 400),
    "no key": (("Sec-WebSocket-Key", "Sec-WebSocket-Lock"), 400),
    "another version": (("Version: 13", "Version: 8"), 426),
    "no version": (("Sec-WebSocket-Version", "Sec-WebSocket-Edition"), 426),
}


def test_a_handshake_that_is_none_is_refused_with_its_status(served: Served) -> None:
    found = {}
    for name, (change, _) in HANDSHAKES.items():
        with sockets.create_connection(("127.0.0.1", served.port)) as raw:
            raw.settimeout(PATIENCE_SECONDS)
            head = f"{HEAD.replace(*change)}Authorization: {served.key}\r\n\r\n"
            raw.sendall(head.encode())
            found[name] = int(raw.recv(65_536).split(b" ")[1])
    assert found == {name: status for name, (_, status) in HANDSHAKES.items()}


def test_messages_in_parts_and_pings_between_them(served: Served) -> None:
    with closing(Raw(served.port, served.key)) as raw:
        raw.send(frame(0x01, CALL[:9]), frame(0x89, b"are you"))
        assert raw.receive() == (0x8A, b"are you")
        raw.send(frame(0x00), frame(0x80, CALL[9:]))
        first, text = raw.receive()
        assert first == 0x81
        assert json.loads(text)["id"] == 7
        # Byte by byte, with a UTF-8 letter cut in two.
        word = b'{"jsonrpc":"2.0","id":"\xc3\xa9","method":"slotUnsubscribe","params":[1]}'
        for byte in frame(0x01, word[:24]) + frame(0x80, word[24:]):
            raw.send(bytes((byte,)))
        assert json.loads(raw.receive()[1])["id"] == "é"
        # As bytes, no UTF-8 is an error of its message, and not of the connection.
        for parts in ([frame(0x82, b'"\xff"')], [frame(0x02, b'"\xc3'), frame(0x80, b'("')]):
            raw.send(*parts)
            assert json.loads(raw.receive()[1])["error"]["data"]["reason"] == "parse_error"
        # A ping between the frames of a message is answered before the message.
        raw.send(frame(0x01, CALL[:9]) + frame(0x89, b"first") + frame(0x80, CALL[9:]))
        assert raw.receive() == (0x8A, b"first")
        assert json.loads(raw.receive()[1])["id"] == 7
        raw.send(frame(0x8A, b"not asked for"))
        raw.send(frame(0x81, CALL))
        assert json.loads(raw.receive()[1])["id"] == 7


FLOODS = {
    "empty continuations": frame(0x01, b"[") + frame(0x00) * 900 + frame(0x80, b"]"),
    "pings": frame(0x89) * 1_000,
}


def _time_of_calls(socket: Socket) -> float:
    began = time.monotonic()
    for _ in range(100):
        assert socket.error("slotUnsubscribe", 1)
    return time.monotonic() - began


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_cheap_frames_delays_no_one_else(served: Served, name: str) -> None:
    over = threading.Event()

    def flood() -> None:
        with closing(Raw(served.port, served.key)) as raw, suppress(OSError):
            raw.give_up_after(0.1)
            while not over.is_set():
                with suppress(TimeoutError):
                    raw.send(FLOODS[name] * 100)

    with served.socket() as other:
        calm = _time_of_calls(other)
        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            flooded = min(_time_of_calls(other) for _ in range(5))
        finally:
            over.set()
            flooding.join()
        # The flood of continuations took a thousand times as long when it was read at once.
        assert flooded < 100 * calm, f"{flooded:.3f} s beside the flood, {calm:.3f} s without"


NO_CALLS = [
    "[" * 20_000 + "]" * 20_000,
    '{"jsonrpc":"2.0","id":1,"method":"slotSubscribe","params":' + "[" * 9_000 + "]" * 9_000 + "}",
    f'{{"jsonrpc":"2.0","id":{LARGE},"method":"accountSubscribe","params":[{LARGE}]}}',
    '{"jsonrpc":"2.0","id":1e400,"method":"slotSubscribe"}',
    "[]",
    "null",
    '{"jsonrpc":"2.0","id":1,"method":"slotSubscribe","params":{"a":1}}',
    "\x00",
]


def test_json_that_is_no_call_is_answered(served: Served) -> None:
    with served.socket() as socket:
        for text in NO_CALLS:
            socket.send(text)
            answer = socket.receive()
            assert answer["error"]["code"] in (-32700, -32600, -32602), (text[:50], answer)
        assert socket.call("slotUnsubscribe", socket.call("slotSubscribe"))


def test_aiohttp_subscribes_pings_and_closes(served: Served) -> None:
    async def use() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                served.url, headers={"Authorization": served.key}, autoping=False
            ) as socket,
        ):
            await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "slotSubscribe"})
            number = (await socket.receive_json())["result"]
            for _ in range(20):
                notice = await socket.receive_json()
                assert notice["params"]["subscription"] == number
            await socket.ping(b"are you")
            while (message := await socket.receive()).type is not aiohttp.WSMsgType.PONG:
                assert message.type is aiohttp.WSMsgType.TEXT
            assert message.data == b"are you"
            # As bytes the same call is one too.
            await socket.send_bytes(CALL)
            while "params" in (answer := await socket.receive_json()):
                pass
            assert answer["id"] == 7
            await socket.close(code=1000)
            assert socket.close_code == 1000

    asyncio.run(asyncio.wait_for(use(), PATIENCE_SECONDS))
