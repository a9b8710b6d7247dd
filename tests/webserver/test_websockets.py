"""Messages in any frames, cut anywhere: each comes back as it was, or its wrong text is refused."""

from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.webserver.application import Served, served
from tests.webserver.echo import echo
from tests.webserver.raw_socket import Raw, frame

_FIN, _TEXT, _BINARY, _PING, _CLOSE = 0x80, 0x01, 0x02, 0x89, frame(0x88, b"\x03\xe8")
_CUTS = st.lists(st.integers(0, 5_000), max_size=6)
_DATA = st.text(max_size=300).map(str.encode) | st.binary(max_size=300)
# What UTF-8 is made of, and what it never has.
_BYTES = st.lists(
    st.sampled_from(b"a\x80\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xec\xed\xef\xf0\xf3\xf4\xf5\xff"),
    max_size=6,
).map(bytes)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as found:
        found.application.upgrade = echo
        yield found


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


def _frames(opcode: int, pieces: list[bytes]) -> list[bytes]:
    return [
        frame((opcode if n == 0 else 0) | (_FIN if n == len(pieces) - 1 else 0), piece)
        for n, piece in enumerate(pieces)
    ]


def _exchange(server: Served, written: list[bytes]) -> list[tuple[int, bytes]]:
    """The frames that come, to the close frame."""
    found = []
    with closing(Raw(server.port, "", "/socket")) as raw:
        with suppress(ConnectionError):
            raw.send(*written)
        while not found or found[-1][0] != 0x88:
            found.append(raw.receive())
    return found


@settings(max_examples=examples(120))
@given(
    st.lists(st.tuples(_DATA, _CUTS, st.none() | st.binary(max_size=125)), max_size=6),
    st.lists(st.integers(0, 2_000), max_size=8),
)
def test_messages_come_back_however_they_are_sent(
    server: Served, messages: list[tuple[bytes, list[int], bytes | None]], cuts: list[int]
) -> None:
    sent, echoes, pongs = [], [], []
    for data, cuts_of_data, ping in messages:
        is_text = data.decode(errors="replace").encode() == data
        opcode = _TEXT if is_text else _BINARY
        for each in _frames(opcode, _pieces(data, cuts_of_data)):
            if ping is not None:
                sent.append(frame(_PING, ping))
                pongs.append((0x8A, ping))
            sent.append(each)
        echoes.append((_FIN | opcode, data))
    found = _exchange(server, _pieces(b"".join([*sent, _CLOSE]), cuts))
    assert [each for each in found if each[0] != 0x8A] == [*echoes, (0x88, b"\x03\xe8")]
    assert [each for each in found if each[0] == 0x8A] == pongs


@settings(max_examples=examples(300))
@given(_BYTES, _CUTS)
def test_text_comes_back_if_it_is_utf8(server: Served, data: bytes, cuts: list[int]) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        expected = 1007
    else:
        expected = 1000
    written = b"".join([*_frames(_TEXT, _pieces(data, cuts)), _CLOSE])
    *echoes, (_, reason) = _exchange(server, [written])
    assert int.from_bytes(reason[:2], "big") == expected
    assert echoes == ([(0x81, data)] if expected == 1000 else [])
