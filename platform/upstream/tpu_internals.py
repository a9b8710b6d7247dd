"""State of a QUIC connection for which aioquic has no public API: the peer's credit, whether it has
acknowledged a stream, and that it closes or retries before there is an event for it.
"""

from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated
from aioquic.quic.stream import QuicStreamSender


def has_credit(quic: QuicConnection, promised_bytes: int) -> bool:
    """Whether a stream may be opened. Some of the connection's window is enough: a leader opens
    it wide later, and may wait for the last bytes of a narrow one to be used.
    """
    return (
        _opened_streams(quic) < quic._remote_max_streams_uni
        and promised_bytes < quic._remote_max_data
    )


def has_too_many_streams(quic: QuicConnection) -> bool:
    """More were opened than the peer allows now."""
    return _opened_streams(quic) > quic._remote_max_streams_uni


def sender_of(quic: QuicConnection, stream_id: int) -> QuicStreamSender:
    """What sends the stream: the only place that learns of acknowledgements and losses."""
    return quic._streams[stream_id].sender


def retry_count(quic: QuicConnection) -> int:
    """How often the peer has asked for the address to be proved first."""
    return quic._retry_count


def close_event(quic: QuicConnection) -> ConnectionTerminated | None:
    """Set as soon as the peer closes. aioquic reports it as an event only after a time of silence
    (RFC 9000, 10.2.2).
    """
    return quic._close_event


def _opened_streams(quic: QuicConnection) -> int:
    return quic.get_next_available_stream_id(is_unidirectional=True) // 4
