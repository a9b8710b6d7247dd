"""One QUIC connection to a leader: a stream for each transaction, as the leader's credit allows."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import SessionTicket

from upstream import tpu_errors, tpu_internals
from upstream.tpu_errors import TpuError
from upstream.tpu_prompt_acks import PromptAcks
from upstream.tpu_sending import Done, Opened, Sending, Sent
from upstream.tpu_socket import Address, connected_socket

# Datagrams read before others get their turn.
_READS_AT_ONCE = 64
_LARGEST_DATAGRAM = 65_536


class Limits(NamedTuple):
    """How long and how much, for every connection of a client."""

    handshake_seconds: float = 2.0
    send_seconds: float = 2.0
    # Validators end a connection after 30 s without a packet; some sooner than they say.
    keep_alive_seconds: float = 10.0
    idle_seconds: float = 60.0
    # A peer that acknowledges nothing for so long has gone without a word.
    silent_seconds: float = 1.0
    waiting: int = 256


class TpuConnection:
    """Opened at once, and over when `error` is set: it is passed to `ended`, once. Every submitted
    transaction gets one answer or one TpuError. For one event loop.
    """

    def __init__(
        self,
        address: Address,
        configuration: QuicConfiguration,
        limits: Limits,
        counts: Counter[str],
        *,
        ended: Callable[["TpuConnection", TpuError], None],
        ticket: Callable[[SessionTicket], None],
    ) -> None:
        """Raises Unreachable if the system does not have a route to the address."""
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._limits = limits
        self._counts = counts
        self._ended = ended
        self._quic = QuicConnection(configuration=configuration, session_ticket_handler=ticket)
        self._waiting: deque[Sending] = deque()
        self._flying: dict[int, Sending] = {}
        self._unwritten: list[Sending] = []
        self._promised_bytes = 0
        self._retries = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._silence: asyncio.TimerHandle | None = None
        self._hurry = PromptAcks(self._ping)
        self._flushing: asyncio.Handle | None = None
        self._pinged_at = 0.0
        self._is_retiring = False
        self._is_early = _allows_early_data(configuration.session_ticket)
        self._rewrites = False  # something that was lost may wait to be written again
        self._opened_by = Opened.NEW
        self.is_open = False
        self.has_served = False
        self.error: TpuError | None = None
        self.wanted_at = self._heard_at = now = monotonic()
        self._socket = connected_socket(address)
        self._loop.add_reader(self._socket, self._read)
        self._patience = self._loop.call_later(limits.handshake_seconds, self._give_up)
        self._alive_timer = self._loop.call_later(limits.keep_alive_seconds, self._keep)
        self._quic.connect(address, now=now)
        self._transmit()

    @property
    def pending(self) -> int:
        """Transactions without an answer."""
        return len(self._waiting) + len(self._flying)

    def submit(self, wire: bytes, timeout_seconds: float, done: Done) -> Sending:
        """Written with whatever else is submitted in this turn of the loop, or by `flush`, if the
        leader's credit allows; else it waits its turn. Raises Backlogged; what else goes wrong is
        the answer.
        """
        if self.error is not None:
            raise type(self.error)(*self.error.args)
        now = monotonic()
        sending = Sending(wire, done, now)
        if not self.is_open:
            sending.opened = self._opened_by
        if not self._waiting and self._has_credit():
            self._write(sending)
            if self._flushing is None:
                self._flushing = self._loop.call_soon(self.flush)
        elif len(self._waiting) >= self._limits.waiting:
            raise tpu_errors.Backlogged(f"{len(self._waiting)} transactions wait for the leader")
        else:
            self._waiting.append(sending)
        sending.timer = self._loop.call_later(timeout_seconds, self._late, sending)
        return sending

    def flush(self) -> None:
        """Writes what was submitted."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self.error is None and self._unwritten:
            self._transmit()
            self._hurry.written()

    def forget(self, sending: Sending) -> None:
        """Cancels waiting for the answer; what was written may still arrive."""
        sending.is_done = True
        self._let_go(sending)

    def retire(self) -> None:
        """Takes nothing new from its owner, and ends when what it has is answered."""
        self._is_retiring = True
        if not self.pending:
            self.close()

    def close(self, why: str = "the connection was closed by us") -> None:
        """Closes the connection; transactions without an answer fail."""
        if self.error is None:
            self._end(tpu_errors.ClientClosed(why), is_ours=True)

    def _has_credit(self) -> bool:
        is_ready = self.is_open or self._is_early
        return is_ready and tpu_internals.has_credit(self._quic, self._promised_bytes)

    def _ping(self) -> None:
        if self._flying and self.is_open and self.error is None:
            self._quic.send_ping(0)
            self._transmit()

    def _write(self, sending: Sending) -> None:
        quic = self._quic
        sending.stream_id = quic.get_next_available_stream_id(is_unidirectional=True)
        quic.send_stream_data(sending.stream_id, sending.wire, end_stream=True)
        sender = tpu_internals.sender_of(quic, sending.stream_id)
        sending.watch(sender, self._acknowledged, self._lost)
        if not self.is_open:
            sending.opened = Opened.EARLY
        self._flying[sending.stream_id] = sending
        self._unwritten.append(sending)
        self._promised_bytes += len(sending.wire)
        self._counts["sent"] += 1
        if self._silence is None:
            self._listen()

    def _acknowledged(self, sending: Sending) -> None:
        self.has_served = True
        self._counts["acked"] += 1
        if self._flying.pop(sending.stream_id, None) is None or sending.is_done:
            return
        latency = monotonic() - sending.called_at
        written = latency if sending.written is None else sending.written - sending.called_at
        sending.finish(Sent(latency, written, sending.opened))
        self._end_if_idle()

    def _lost(self) -> None:
        self._rewrites = True

    def _pump(self) -> None:
        """What waited, as far as the leader's credit goes."""
        while self._waiting and self._has_credit():
            self._write(self._waiting.popleft())

    def _read(self) -> None:
        try:
            for _ in range(_READS_AT_ONCE):
                data = self._socket.recv(_LARGEST_DATAGRAM)
                self._heard_at = monotonic()
                self._quic.receive_datagram(data, self._address, now=self._heard_at)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._end(tpu_errors.cut_by_system(error, is_connected=self.is_open))
            return
        self._go_on()

    def _go_on(self, *, is_due: bool = False) -> None:
        """Whatever follows from what the connection has learned, or what is due by its timer."""
        if self.error is not None:
            return
        was_open = self.is_open
        while (event := self._quic.next_event()) is not None:
            match event:
                case events.HandshakeCompleted():
                    self._opened(event)
                case events.StopSendingReceived():
                    self._refused(event)
                case _:
                    pass
        if tpu_internals.retry_count(self._quic) > self._retries:
            self._restart()
        closed = tpu_internals.close_event(self._quic)
        if closed is not None:
            self._end(tpu_errors.closed_by_peer(closed, is_connected=self.is_open))
        elif self.error is None:
            self._pump()
            is_writing = self._rewrites or bool(self._unwritten)
            if is_due or is_writing or not was_open:
                self._transmit()
            else:
                # Most datagrams only acknowledge. What asks for an acknowledgement has set a time.
                self._arm(self._quic.get_timer())

    def _opened(self, event: events.HandshakeCompleted) -> None:
        self._patience.cancel()
        self.is_open = True
        self._counts["connections"] += 1
        if event.session_resumed:
            self._opened_by = Opened.RESUMED
            self._counts["resumptions"] += 1
        if event.early_data_accepted:
            self._counts["early"] += 1
        else:
            for sending in self._flying.values():
                sending.opened = self._opened_by
            if tpu_internals.has_too_many_streams(self._quic):
                # It opened streams by the credit of a time gone by; to send those again would
                # break the rules.
                self._end(
                    tpu_errors.ConnectionLost("the leader refused early data, and gives no credit"),
                    is_ours=True,
                )
        for sending in self._waiting:
            sending.opened = self._opened_by

    def _restart(self) -> None:
        """The leader wants our address proved first: for aioquic a new beginning, in which it knows
        nothing more of the packets before; so early data is called lost, to be sent again.
        """
        self._retries = tpu_internals.retry_count(self._quic)
        for sending in self._flying.values():
            sending.is_lost()

    def _refused(self, event: events.StopSendingReceived) -> None:
        sending = self._flying.get(event.stream_id)
        if sending is not None:
            message = f"the leader stopped reading the transaction (code {event.error_code})"
            self._fail(sending, tpu_errors.StreamRefused(message))

    def _late(self, sending: Sending) -> None:
        """The time for an answer is over."""
        if sending.is_done:
            return
        waited = f"{monotonic() - sending.called_at:.1f} s"
        if sending.stream_id < 0 and not self.is_open:
            self._fail(sending, tpu_errors.Unreachable(f"not connected after {waited}"))
        elif sending.stream_id < 0:
            message = f"the leader gave no credit for a stream within {waited}"
            self._fail(sending, tpu_errors.NoCredit(message))
        else:
            self._give_up_on(sending)
            self._fail(sending, tpu_errors.Unacknowledged(f"no acknowledgement after {waited}"))

    def _listen(self) -> None:
        """While something flies, the peer is heard of, or has gone without a word."""
        self._silence = None
        oldest = next(iter(self._flying.values()), None)
        if oldest is None or self.error is not None:
            return
        silent_at = max(self._heard_at, oldest.called_at) + self._limits.silent_seconds
        if self.is_open and silent_at <= monotonic():
            self._end(tpu_errors.ConnectionLost("the leader fell silent"), is_ours=True)
        else:
            # Not before the handshake: that has a limit of its own.
            wait = self._limits.silent_seconds / 4
            self._silence = self._loop.call_later(wait, self._listen)

    def _give_up_on(self, sending: Sending) -> None:
        """A message that was never written whole is dropped: it would take room from later ones."""
        sender = sending.sender
        if sender is not None and not sending.is_written:
            self._promised_bytes -= len(sending.wire) - sender.highest_offset
            self._quic.reset_stream(sending.stream_id, 0)
            self._transmit()

    def _fail(self, sending: Sending, error: TpuError) -> None:
        sending.finish(error)
        self._let_go(sending)

    def _let_go(self, sending: Sending) -> None:
        if sending.timer is not None:
            sending.timer.cancel()
        self._flying.pop(sending.stream_id, None)
        if sending.stream_id < 0 and sending in self._waiting:
            self._waiting.remove(sending)
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_retiring and not self.pending:
            self.close()

    def _give_up(self) -> None:
        message = f"no answer to the handshake within {self._limits.handshake_seconds:g} s"
        self._end(tpu_errors.Unreachable(message), is_ours=True)

    def _keep(self) -> None:
        """Keeps the connection alive while it is wanted, and ends it otherwise."""
        idle = monotonic() - self.wanted_at
        if idle >= self._limits.idle_seconds and not self.pending:
            self.close(f"not wanted for {idle:.0f} s")
            return
        self._alive_timer = self._loop.call_later(self._limits.keep_alive_seconds, self._keep)
        if self._heard_at < self._pinged_at:
            self._end(tpu_errors.ConnectionLost("the leader answers no PING"), is_ours=True)
        elif self.is_open:
            self._pinged_at = monotonic()
            self._quic.send_ping(0)
            self._transmit()

    def _transmit(self) -> None:
        now = monotonic()
        try:
            for data, _ in self._quic.datagrams_to_send(now=now):
                try:
                    self._socket.send(data)
                except (BlockingIOError, InterruptedError):
                    self._counts["datagrams_dropped"] += 1  # QUIC sends it again
        except OSError as error:
            self._end(tpu_errors.cut_by_system(error, is_connected=self.is_open))
            return
        if self._unwritten:
            self._note_what_is_written()
        if self._rewrites:
            # In no datagram, or only in lost ones.
            self._rewrites = any(each.has_unwritten_data for each in self._flying.values())
        self._arm(self._quic.get_timer())

    def _note_what_is_written(self) -> None:
        now = monotonic()
        for sending in self._unwritten:
            if sending.is_written:
                sending.written = now
        # Those that were given up will never be.
        self._unwritten = [
            each for each in self._unwritten if each.written is None and not each.is_done
        ]

    def _arm(self, timer_at: float | None) -> None:
        """A timer that fires too early reschedules itself, so that it is rarely reset."""
        if timer_at is None or self.error is not None:
            return
        if self._timer is not None:
            if self._timer_at <= timer_at:
                return
            self._timer.cancel()
        self._timer_at = timer_at
        self._timer = self._loop.call_later(max(0.0, timer_at - monotonic()), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        due = self._quic.get_timer()
        # The loop's clock may stand a hair before the time that it was asked to wake us at.
        now = max(monotonic(), self._timer_at)
        if due is not None and due <= now:
            self._quic.handle_timer(now=now)
            self._go_on(is_due=True)
        else:
            self._arm(due)

    def _end(self, error: TpuError, *, is_ours: bool = False) -> None:
        if self.error is not None:
            return
        self.error = error
        self._hurry.stop()
        timers = (self._patience, self._alive_timer, self._timer, self._silence, self._flushing)
        for timer in timers:
            if timer is not None:
                timer.cancel()
        if is_ours:
            self._say_goodbye()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        unanswered = [*self._flying.values(), *self._waiting]
        self._flying.clear()
        self._waiting.clear()
        for sending in unanswered:
            sending.finish(type(error)(*error.args))
        self._ended(self, error)

    def _say_goodbye(self) -> None:
        self._quic.close()
        try:
            for data, _ in self._quic.datagrams_to_send(now=monotonic()):
                self._socket.send(data)
        except OSError:
            pass  # it is over anyway


def _allows_early_data(ticket: SessionTicket | None) -> bool:
    """Whether 0-RTT packets can be sent with it. In QUIC a ticket allows any size, or none."""
    return ticket is not None and ticket.is_valid and ticket.max_early_data_size is not None
