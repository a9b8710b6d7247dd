"""What a connection writes: transactions in packets of our own while that can be, or by aioquic."""

from collections.abc import Callable

from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicDeliveryState

from upstream import tpu_internals, tpu_packets
from upstream.tpu_sending import Sending


class Outgoing:
    """`acknowledged` is called with each transaction that the peer has whole."""

    def __init__(self, quic: QuicConnection, acknowledged: Callable[[Sending], None]) -> None:
        self._quic = quic
        self._acknowledged = acknowledged
        self._whole: list[Sending] = []  # for the next packets of our own
        self._unwritten: list[Sending] = []  # with a stream of aioquic's
        self._rewrites = False  # something that was lost may wait to be written again

    @property
    def has_new(self) -> bool:
        """Something was added and is not written yet."""
        return bool(self._whole or self._unwritten)

    @property
    def waits(self) -> bool:
        """There may be something to write."""
        return self._rewrites or self.has_new or tpu_internals.has_news(self._quic)

    def add(self, sending: Sending) -> None:
        """It gets a stream, and is written with the next datagrams. There must be credit."""
        sending.stream_id = tpu_packets.take_stream(self._quic)
        if tpu_packets.can_write(self._quic):
            self._whole.append(sending)
        else:
            self._open_stream(sending)

    def datagrams(self, now: float) -> list[bytes]:
        """What is to be sent now."""
        datagrams: list[bytes] = []
        if self._whole:
            sendings, self._whole = self._whole, []
            datagrams, others = tpu_packets.write(self._quic, sendings, self._delivered, now)
            for sending in sendings[: len(sendings) - len(others)]:
                sending.written = now
            for sending in others:
                self._open_stream(sending)
        if not datagrams or self._unwritten:
            datagrams += [data for data, _ in self._quic.datagrams_to_send(now=now)]
        if self._unwritten:
            self._note_what_is_written(now)
        if self._rewrites:
            self._rewrites = tpu_internals.has_unwritten_data(self._quic)
        return datagrams

    def _open_stream(self, sending: Sending) -> None:
        was_sent = sending.written is not None
        number, wire = sending.stream_id, sending.wire
        sender = tpu_packets.open_stream(self._quic, number, wire, was_sent=was_sent)
        sending.watch(sender, self._acknowledged, self._lost)
        if not was_sent:
            self._unwritten.append(sending)

    def _delivered(self, delivery: QuicDeliveryState, sending: Sending) -> None:
        """What became of it in a packet of our own."""
        if delivery is QuicDeliveryState.ACKED:
            self._acknowledged(sending)
        else:
            self._open_stream(sending)
            self._lost()

    def _lost(self) -> None:
        self._rewrites = True

    def _note_what_is_written(self, now: float) -> None:
        for sending in self._unwritten:
            if sending.is_written:
                sending.written = now
        # Those that were given up will never be.
        self._unwritten = [
            each for each in self._unwritten if each.written is None and not each.is_done
        ]
