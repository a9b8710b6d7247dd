"""Any bytes at gRPC's framing: a message or a status, and never more memory than a request may."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpcserver.encoding import MOST_REQUEST, Framing
from tests.examples import examples
from upstream.grpc.status import GrpcStatus

ENCODINGS = ["identity", "gzip", "zstd"]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(ENCODINGS),
    st.lists(st.binary(max_size=3_000) | st.binary(max_size=4).map(lambda b: b * 700), max_size=5),
    st.integers(1, 50),
)
def test_messages_are_read_as_they_were_framed(
    encoding: str, messages: list[bytes], step: int
) -> None:
    framing = Framing(encoding, "")
    data = b"".join(map(framing.framed, messages))
    step = max(step, len(data) // 40)
    found = [
        message
        for start in range(0, len(data), step)
        for message in framing.received(data[start : start + step])
    ]
    assert found == messages
    assert not framing.unfinished


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(ENCODINGS), st.lists(st.binary(max_size=200), max_size=6))
def test_any_bytes_are_messages_or_a_status(encoding: str, pieces: list[bytes]) -> None:
    framing = Framing(encoding, "")
    for piece in pieces:
        try:
            for message in framing.received(b"\1\0\0\0" + piece):
                assert len(message) <= MOST_REQUEST
        except GrpcStatus as status:
            assert status.code in (3, 8, 12, 13)
            return


def test_a_length_above_the_most_is_refused_before_it_comes() -> None:
    with pytest.raises(GrpcStatus, match="are the most"):
        list(Framing("identity", "").received(b"\0\xff\xff\xff\xff"))
