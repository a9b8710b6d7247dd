"""Packets that hold whole transactions and nothing else, written without aioquic's own writer.

That one looks for everything a packet may hold, and keeps a stream for each transaction: a third of
the time that a transaction takes over QUIC. Keys, losses and congestion stay aioquic's.
"""

from collections.abc import Callable, Sequence
from typing import Any

from aioquic.buffer import encode_uint_var
from aioquic.quic.connection import END_STATES, QuicConnection
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicDeliveryState, QuicSentPacket
from aioquic.quic.stream import QuicStream, QuicStreamSender
from aioquic.tls import Epoch

from upstream.tpu_sending import Sending

# A STREAM frame from the stream's beginning to its end, and of a length that it names.
_WHOLE_STREAM = b"\x0b"
_FIXED_BIT, _LONG_NUMBER = 0x40, 0x01
_NUMBER_BYTES, _TAG_BYTES = 2, 16

Delivered = Callable[[QuicDeliveryState, Sending], None]


def take_stream(quic: QuicConnection) -> int:
    """The number of a new stream, of which aioquic believes that it is over."""
    number = quic._local_next_stream_id_uni
    quic._local_next_stream_id_uni = number + 4
    return number


def open_stream(
    quic: QuicConnection, number: int, data: bytes, *, was_sent: bool
) -> QuicStreamSender:
    """The taken stream becomes one of aioquic's, with the data to be written: again, if it
    `was_sent`.
    """
    stream = quic._streams[number] = QuicStream(
        stream_id=number, max_stream_data_remote=quic._remote_max_stream_data_uni, readable=False
    )
    quic._streams_queue.append(stream)
    stream.sender.write(data, end_stream=True)
    if was_sent:
        stream.sender.highest_offset = len(data)  # counts for the connection's credit once
    return stream.sender


def can_write(quic: QuicConnection) -> bool:
    """Whether transactions may be given to `write`, now or a little later."""
    return quic._handshake_confirmed and quic._state not in END_STATES


def write(
    quic: QuicConnection, sendings: Sequence[Sending], delivered: Delivered, now: float
) -> tuple[list[bytes], Sequence[Sending]]:
    """Datagrams with the transactions, on streams that were taken, and those that aioquic must
    write: while there is something else to write, or too little credit. `delivered` is called once
    with each of the others.
    """
    datagrams: list[bytes] = []
    if not _is_idle(quic):
        return datagrams, sendings
    room = quic._max_datagram_size - 1 - len(quic._peer_cid.cid) - _NUMBER_BYTES - _TAG_BYTES
    while sendings:
        payload, count, data_bytes = b"", 0, 0
        credit = quic._remote_max_data - quic._remote_max_data_used
        for sending in sendings:
            size = len(sending.wire)
            frame = b"".join(
                (
                    _WHOLE_STREAM,
                    encode_uint_var(sending.stream_id),
                    (size | 0x4000).to_bytes(2, "big"),
                    sending.wire,
                )
            )
            data_bytes += size
            if (
                len(payload) + len(frame) > room
                or data_bytes > credit
                or size > quic._remote_max_stream_data_uni
            ):
                data_bytes -= size
                break
            payload += frame
            count += 1
        if not count or not _may_send(quic, len(payload), now):
            break
        quic._remote_max_data_used += data_bytes
        handlers: list[tuple[Callable[..., None], Any]] = [
            (delivered, (sending,)) for sending in sendings[:count]
        ]
        datagrams.append(_packet(quic, payload, handlers, now))
        sendings = sendings[count:]
    return datagrams, sendings


def _is_idle(quic: QuicConnection) -> bool:
    """aioquic itself has nothing to write."""
    path = quic._network_paths[0]
    return (
        can_write(quic)
        and quic._spaces[Epoch.ONE_RTT].ack_at is None
        and not quic._close_pending
        and not quic._ping_pending
        and not quic._probe_pending
        and not quic._retire_connection_ids
        and not quic._streams_blocked_pending
        and not _has_stream_to_write(quic)
        and quic._crypto_streams[Epoch.ONE_RTT].sender.buffer_is_empty
        and all(connection_id.was_sent for connection_id in quic._host_cids)
        and path.is_validated
        and not path.remote_challenges
        and len(quic._network_paths) == 1
    )


def _has_stream_to_write(quic: QuicConnection) -> bool:
    """Lets go of those that are over, as aioquic's writer does."""
    if not quic._streams_queue:
        return False
    for stream in quic._streams_queue:
        if stream.is_finished and stream.stream_id is not None:
            quic._streams.pop(stream.stream_id, None)
    quic._streams_queue = [each for each in quic._streams_queue if not each.is_finished]
    return any(
        each.sender.reset_pending or each.receiver.stop_pending or not each.sender.buffer_is_empty
        for each in quic._streams_queue
    )


def _may_send(quic: QuicConnection, size: int, now: float) -> bool:
    """Congestion and pacing allow a packet with so many bytes of frames."""
    loss = quic._loss
    return (
        loss.bytes_in_flight + size + quic._max_datagram_size // 8 <= loss.congestion_window
        and loss._pacer.next_send_time(now) is None
    )


def _packet(
    quic: QuicConnection,
    payload: bytes,
    handlers: list[tuple[Callable[..., None], Any]],
    now: float,
) -> bytes:
    crypto, space, number = (
        quic._cryptos[Epoch.ONE_RTT],
        quic._spaces[Epoch.ONE_RTT],
        quic._packet_number,
    )
    first = _FIXED_BIT | quic._spin_bit << 5 | crypto.key_phase << 2 | _LONG_NUMBER
    header = bytes((first,)) + quic._peer_cid.cid + (number & 0xFFFF).to_bytes(2, "big")
    datagram: bytes = crypto.encrypt_packet(header, payload, number)
    packet = QuicSentPacket(
        epoch=Epoch.ONE_RTT,
        in_flight=True,
        is_ack_eliciting=True,
        is_crypto_packet=False,
        packet_number=number,
        packet_type=QuicPacketType.ONE_RTT,
        sent_time=now,
        sent_bytes=len(datagram),
        delivery_handlers=handlers,
    )
    quic._packet_number = number + 1
    quic._loss.on_packet_sent(packet=packet, space=space)
    quic._loss._pacer.update_after_send(now=now)
    if not quic._ack_eliciting_sent_since_receipt:
        quic._close_at = now + quic._idle_timeout()
        quic._ack_eliciting_sent_since_receipt = True
    quic._network_paths[0].bytes_sent += len(datagram)
    return datagram
