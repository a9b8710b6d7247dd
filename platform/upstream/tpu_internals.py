"""State of a QUIC connection for which aioquic has no public API."""

from aioquic.quic.connection import QuicConnection
from aioquic.tls import Epoch


def can_send_early(quic: QuicConnection) -> bool:
    """A ticket's keys are there for 0-RTT."""
    return quic._cryptos[Epoch.ZERO_RTT].send.is_valid()


def has_credit(quic: QuicConnection, promised_bytes: int) -> bool:
    """Whether a stream may be opened. Some of the connection's window is enough: a leader opens
    it wide later, and may wait for the last bytes of a narrow one to be used.
    """
    return (
        quic._local_next_stream_id_uni // 4 < quic._remote_max_streams_uni
        and promised_bytes < quic._remote_max_data
    )


def has_too_many_streams(quic: QuicConnection) -> bool:
    """More were opened than the peer allows now."""
    return quic._local_next_stream_id_uni // 4 > quic._remote_max_streams_uni


def has_news(quic: QuicConnection) -> bool:
    """An acknowledgement, a handshake or a loss is to be seen to. False after most datagrams, which
    only acknowledge: `datagrams_to_send` takes as long to find that out as to write half a packet.
    """
    space = quic._spaces[Epoch.ONE_RTT]
    return space.ack_at is not None or space.loss_time is not None or not quic._handshake_confirmed


def has_unwritten_data(quic: QuicConnection) -> bool:
    """A stream has bytes that are in no datagram, or only in lost ones."""
    return any(not stream.sender.buffer_is_empty for stream in quic._streams_queue)
