"""What RFC 6455 asks of a server, case by case, in the order of the Autobahn test suite's sections.

A case is what a client sends, write by write, and what comes back: (`id`, an id) for the answer to
a call with this id, (`pong`, its data), (`close`, its code or None). A case without a close is
followed by the client's own one. The service does not echo, but answers a call with its id.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.webserver.raw_socket import frame

TEXT, BINARY, CONT, CLOSE, PING, PONG = 0x01, 0x02, 0x00, 0x08, 0x09, 0x0A
FIN = 0x80
MOST_BYTES = 65_536
MOST_FRAMES = 1_024
Event = tuple[str, str | bytes | int | None]


@dataclass
class Case:
    """A case by its name."""

    name: str
    sent: list[bytes]
    comes: list[Event]


def call(name: object) -> bytes:
    """A call that is answered with this id."""
    text = {"jsonrpc": "2.0", "id": name, "method": "echo"}
    return json.dumps(text, ensure_ascii=False).encode()


def long_call(size: int) -> tuple[bytes, Event]:
    """A call of so many bytes, and its answer."""
    name = "x" * (size - len(call("")))
    return call(name), ("id", name)


def text(name: object) -> bytes:
    return frame(FIN | TEXT, call(name))


def parts(opcode: int, *pieces: bytes) -> list[bytes]:
    """A message in so many frames."""
    last = len(pieces) - 1
    return [
        frame((FIN if n == last else 0) | (opcode if n == 0 else CONT), piece)
        for n, piece in enumerate(pieces)
    ]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


def code(number: int, reason: bytes = b"") -> bytes:
    return frame(FIN | CLOSE, number.to_bytes(2, "big") + reason)


def framing() -> Iterator[Case]:
    """1: messages of each form of length."""
    for kind, opcode in (("text", TEXT), ("binary", BINARY)):
        # Nothing is no call.
        yield Case(f"{kind}, empty", [frame(FIN | opcode)], [("id", None)])
        for size in (125, 126, 127, 128, 65_535, MOST_BYTES):
            data, answer = long_call(size)
            yield Case(f"{kind}, {size} bytes", [frame(FIN | opcode, data)], [answer])
        for size in (997, 64):
            data, answer = long_call(MOST_BYTES)
            written = cut(frame(FIN | opcode, data), size)
            yield Case(f"{kind}, written {size} bytes at a time", written, [answer])


def pings() -> Iterator[Case]:
    """2: pings are answered with their data, pongs with nothing."""
    for name, data in {
        "nothing": b"",
        "text": b"are you there?",
        "bytes": b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff",
        "125 bytes": b"\xfe" * 125,
    }.items():
        ping = frame(FIN | PING, data)
        yield Case(f"ping of {name}", [ping], [("pong", data)])
        yield Case(f"ping of {name}, byte by byte", cut(ping, 1), [("pong", data)])
    yield Case("ping of 126 bytes", [frame(FIN | PING, bytes(126))], [("close", 1002)])
    many = [frame(FIN | PING, b"%d" % n) for n in range(10)]
    pongs: list[Event] = [("pong", b"%d" % n) for n in range(10)]
    yield Case("ten pings", [b"".join(many)], pongs)
    yield Case("ten pings, byte by byte", cut(b"".join(many), 1), pongs)
    for data in (b"", b"unasked"):
        pong = frame(FIN | PONG, data)
        yield Case(f"pong {data!r}", [pong], [])
        yield Case(f"pong {data!r} and a ping", [pong, many[7]], [pongs[7]])


def reserved_bits() -> Iterator[Case]:
    """3: each of the seven, in a frame of each kind; what came before is answered."""
    kinds = {"text": TEXT, "binary": BINARY, "close": CLOSE, "ping": PING, "pong": PONG}
    for bits, (kind, opcode) in product(range(1, 8), kinds.items()):
        for data in (b"", b"\x03\xe8"):
            bad = frame(FIN | bits << 4 | opcode, data)
            comes: list[Event] = [("id", "before"), ("close", 1002)]
            sent = [text("before") + bad + frame(FIN | PING)]
            yield Case(f"bits {bits} of a {kind}, {len(data)} bytes", sent, comes)
    for bits in range(1, 8):
        written = cut(text("before") + frame(FIN | bits << 4 | TEXT, call(1)) + text("after"), 1)
        yield Case(f"bits {bits}, byte by byte", written, [("id", "before"), ("close", 1002)])
        sent = [frame(TEXT, b"{"), frame(FIN | bits << 4 | CONT, b"}")]
        yield Case(f"bits {bits} of a continuation", sent, [("close", 1002)])


def opcodes() -> Iterator[Case]:
    """4: those that nobody has defined."""
    for opcode in (*range(3, 8), *range(11, 16)):
        for data in (b"", b"data", call("within")):
            bad = frame(FIN | opcode, data)
            comes: list[Event] = [("id", "before"), ("close", 1002)]
            name = f"opcode {opcode} with {len(data)} bytes"
            yield Case(name, [text("before") + bad + frame(FIN | PING)], comes)
        yield Case(f"opcode {opcode} alone", [frame(FIN | opcode)], [("close", 1002)])


def fragmentation() -> Iterator[Case]:
    """5: messages in frames, and what may come between them."""
    first, second, third = cut(call("in parts"), 20)[:2], cut(call("in parts"), 20)[2:], b""
    pieces = [*first, b"".join(second), third]
    answer: Event = ("id", "in parts")
    ping, pong = frame(FIN | PING, b"between"), ("pong", b"between")
    begun, *more = parts(TEXT, *pieces)
    for kind, opcode in (("text", TEXT), ("binary", BINARY)):
        yield Case(f"{kind} in frames", [b"".join(parts(opcode, *pieces))], [answer])
        yield Case(f"{kind} in frames, each written", parts(opcode, *pieces), [answer])
        yield Case(
            f"{kind} in frames, byte by byte", cut(b"".join(parts(opcode, *pieces)), 1), [answer]
        )
    yield Case("a ping in two frames", parts(PING, b"a", b"b"), [("close", 1002)])
    yield Case("a pong in two frames", parts(PONG, b"a", b"b"), [("close", 1002)])
    yield Case("a close in two frames", parts(CLOSE, b"\x03", b"\xe8"), [("close", 1002)])
    yield Case("a ping between", [begun + ping + b"".join(more)], [pong, answer])
    yield Case("a ping between, each written", [begun, ping, *more], [pong, answer])
    yield Case(
        "a ping between, byte by byte", cut(begun + ping + b"".join(more), 1), [pong, answer]
    )
    yield Case(
        "a ping between, and a close",
        [begun + ping + b"".join(more) + code(1000)],
        [pong, answer, ("close", 1000)],
    )
    yield Case("a pong between", [begun, frame(FIN | PONG, b"x"), *more], [answer])
    sent = [begun]
    for each in more:
        sent += [ping, each]
    yield Case("a ping between each", sent, [pong] * len(more) + [answer])
    for last in (True, False):
        bad = frame((FIN if last else 0) | CONT, call("nothing"))
        name = f"continues nothing, {'last' if last else 'not last'}"
        yield Case(name, [bad, text("after")], [("close", 1002)])
        yield Case(f"{name}, behind a message", [text(1) + bad], [("id", 1), ("close", 1002)])
        yield Case(f"{name}, byte by byte", cut(bad, 1), [("close", 1002)])
    for kind, opcode in (("text", TEXT), ("binary", BINARY)):
        for first_byte in (FIN | opcode, opcode):
            sent = [begun, frame(first_byte, call("within"))]
            name = f"{kind} {first_byte:#x} within a message"
            yield Case(name, sent, [("close", 1002)])
            whole = parts(TEXT, *pieces)
            sent = [b"".join(whole) + begun + frame(first_byte, b"{}")]
            yield Case(f"{name}, behind one", sent, [answer, ("close", 1002)])


_LETTERS = [
    "κόσμε",
    "Hello-µ@ßöäüàá-UTF-8!!",
    "\x7f",
    "\x80",
    "\u07ff",
    "\u0800",
    "\ufffd",
    "\uffff",
    "\ufffe",
    "\ufdd0",
    "\ud7ff",
    "\ue000",
    "\U00010000",
    "\U0001fffe",
    "\U0010ffff",
    "\U0001f469\u200d\U0001f680",
]
# Wrong from the last byte on.
_WRONG = [
    b"\x80",
    b"\xbf",
    b"\xc0",
    b"\xc1",
    b"\xf5",
    b"\xf8",
    b"\xfc",
    b"\xfe",
    b"\xff",
    b"a\x80",
    b"\xe0\x80",
    b"\xe0\x9f",
    b"\xf0\x80",
    b"\xf0\x8f",
    b"\xf4\x90",
    b"\xf4\xbf",  # too long
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",  # surrogates
    b"\xc2a",
    b"\xdf\xc2",
    b"\xe1\x80a",
    b"\xef\xbfa",
    b"\xe1a",
    b"\xf1\x80\x80a",
    b"\xf1a",
    b"\xf4\x8fa",
    b"\xf1\x80\xc2",
    "κόσμε".encode() + b"\xff",
]
_NOT_WHOLE = [b"\xc2", b"\xdf", b"\xe1", b"\xe1\x80", b"\xf1", b"\xf1\x80", b"\xf4\x8f\xbf"]


def utf8() -> Iterator[Case]:
    """6: text is UTF-8, over all frames of a message; what cannot become it ends at once."""
    for name in _LETTERS:
        data, answer = call(name), ("id", name)
        letters = [letter.encode() for letter in data.decode()]
        yield Case(f"{name!a}", [frame(FIN | TEXT, data)], [answer])
        yield Case(f"{name!a}, letter by letter", [b"".join(parts(TEXT, *letters))], [answer])
        bytewise = b"".join(parts(TEXT, *cut(data, 1)))
        yield Case(f"{name!a}, a frame for each byte", [bytewise], [answer])
        yield Case(f"{name!a}, byte by byte", cut(frame(FIN | TEXT, data), 1), [answer])
    for pieces in ([b"", b"", b""], [b"", call("x"), b""], [call("x"), b"", b""]):
        answer = ("id", "x" if any(pieces) else None)
        yield Case(f"text with empty frames, {pieces!r:.20}", parts(TEXT, *pieces), [answer])
    for wrong in _WRONG:
        data = b'"' + wrong
        yield Case(f"{wrong!r}", [frame(FIN | TEXT, data + b'"')], [("close", 1007)])
        # Nothing more comes: it is not waited for.
        begun = b"".join(parts(TEXT, *cut(data, 1), b"")[:-1])
        yield Case(f"{wrong!r}, not whole", [begun], [("close", 1007)])
        # As bytes it is a call that cannot be read.
        yield Case(f"{wrong!r} as bytes", [frame(FIN | BINARY, data)], [("id", None)])
    for begun in _NOT_WHOLE:
        yield Case(f"{begun!r} at the end", [frame(FIN | TEXT, begun)], [("close", 1007)])
        yield Case(f"{begun!r} and no more", parts(TEXT, begun, b""), [("close", 1007)])


def closing() -> Iterator[Case]:
    """7: the close frame, its codes and reasons, and what comes behind it."""
    good = code(1000)
    begun, rest = parts(TEXT, call("x")[:9], call("x")[9:])
    yield Case("a message and a close", [text("x") + good], [("id", "x"), ("close", 1000)])
    yield Case("two closes", [good + good], [("close", 1000)])
    yield Case("a ping behind it", [good + frame(FIN | PING)], [("close", 1000)])
    yield Case("a message behind it", [good + text("late")], [("close", 1000)])
    yield Case("within a message", [begun + good + rest], [("close", 1000)])
    yield Case("within a message, each written", [begun, good], [("close", 1000)])
    long, answer = long_call(MOST_BYTES)
    sent = [frame(FIN | TEXT, long) + text("x") + good + frame(FIN | PING)]
    yield Case("behind a long message", sent, [answer, ("id", "x"), ("close", 1000)])
    for name, bad, number in (
        ("text that is not UTF-8", frame(FIN | TEXT, b"\xff"), 1007),
        ("a message that is too long", b"".join(parts(TEXT, bytes(MOST_BYTES), b" ")), 1009),
        ("a reserved opcode", frame(FIN | 3), 1002),
    ):
        yield Case(f"behind {name}", [text("x") + bad + good], [("id", "x"), ("close", number)])
    yield Case("without a code", [frame(FIN | CLOSE)], [("close", None)])
    yield Case("half of a code", [frame(FIN | CLOSE, b"\x03")], [("close", 1002)])
    yield Case("with a reason", [code(1000, b"going")], [("close", 1000)])
    yield Case("with the longest reason", [code(1000, b"*" * 123)], [("close", 1000)])
    yield Case("with a longer one", [code(1000, b"*" * 124)], [("close", 1002)])
    for wrong in (*_WRONG, *_NOT_WHOLE):
        yield Case(f"reason {wrong!r}", [code(1000, wrong)], [("close", 1007)])
    for number in (*range(1000, 1004), *range(1007, 1015), 3000, 3999, 4000, 4999):
        yield Case(f"code {number}", [code(number)], [("close", number)])
    for number in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535):
        yield Case(f"code {number}", [code(number)], [("close", 1002)])


def limits() -> Iterator[Case]:
    """9 and 10: as much as the service takes, in frames of any size, and one more."""
    data, answer = long_call(MOST_BYTES)
    for size in (64, 256, 1_000, 1_300, 4_096, 16_384, 65_535):
        for kind, opcode in (("text", TEXT), ("binary", BINARY)):
            sent = [b"".join(parts(opcode, *cut(data, size)))]
            yield Case(f"{kind} in frames of {size}", sent, [answer])
    begun, rest = parts(TEXT, data[:-6], data[-6:])
    ping = frame(FIN | PING, b"x" * 125)
    yield Case("a ping before the end", [begun + ping + rest], [("pong", b"x" * 125), answer])
    many: list[Event] = [("id", n) for n in range(300)]
    yield Case("300 messages", [b"".join(text(n) for n in range(300))], many)
    most, last = cut(data, 64)[: MOST_FRAMES - 1], b"".join(cut(data, 64)[MOST_FRAMES - 1 :])
    assert len(parts(TEXT, *most, last)) == MOST_FRAMES
    yield Case("as many frames as may be", [b"".join(parts(TEXT, *most, last))], [answer])
    sent = [b"".join(parts(TEXT, *most, last, b"")[:-1])]
    yield Case("one more", sent, [("close", 1009)])
    over = data + b" "
    for size in (64, 1_300, len(over) - 1, len(over)):
        sent = [b"".join(parts(TEXT, *cut(over, size)))]
        yield Case(f"a byte more, in frames of {size}", sent, [("close", 1009)])
    for announced in (MOST_BYTES + 1, 2**32, 2**63, 2**64 - 1):
        head = bytes((FIN | BINARY, 0xFF)) + announced.to_bytes(8, "big") + bytes(4)
        yield Case(f"{announced} bytes are announced", [head], [("close", 1009)])
    yield Case("no mask", [frame(FIN | TEXT, call(1), masked=False)], [("close", 1002)])


SECTIONS = (framing, pings, reserved_bits, opcodes, fragmentation, utf8, closing, limits)
