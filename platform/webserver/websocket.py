"""WebSockets: an upgraded connection that reads frames to whole messages, and sends messages.

Frames are the package `websockets`', without its network layer.
"""

import asyncio
import time
from collections import deque

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

from webserver.paced_input import PacedInput, Share
from webserver.upgrades import Channel

# What waits for a client that does not read: above it the client is disconnected.
MOST_WAITING = 20_000
MOST_WAITING_BYTES = 4 * 1_048_576
# The system's own buffer, which would take megabytes more.
_BUFFER_BYTES = 262_144
# A client that was silent for so long is asked whether it is there, and is gone after so long.
_PING_SECONDS = 20.0
_GONE_SECONDS = 60.0
# How long a client that is disconnected may take to read why.
_GOODBYE_SECONDS = 5.0
# A message that was begun has to be whole by then.
_MESSAGE_SECONDS = 20.0


class WebSocket:
    """Used on the event loop: the handler of an upgraded connection, which gives each message to
    `_take`. Who makes it calls `tick` about every second.
    """

    # Bytes and frames of a message.
    most_bytes = 65_536
    most_frames = 1_024

    __slots__ = (
        *("_asked_at", "_begun_at", "_bytes", "_channel", "_ending", "_heard_at", "_input"),
        *("_is_text", "_pieces", "_protocol", "_queue", "_waiters", "is_ended"),
    )

    def __init__(self, channel: Channel, share: Share) -> None:
        self.is_ended = False
        self._channel = channel
        self._protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=self.most_bytes)
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        # The frames of a message that was begun, since when, and whether it is text.
        self._pieces: list[bytes] = []
        self._begun_at = 0.0
        self._is_text = False
        self._heard_at = time.monotonic()
        self._input = PacedInput(
            channel,
            share,
            read=self._read,
            is_over=lambda: self._protocol.state is not State.OPEN,
        )
        self._asked_at = 0.0
        self._ending: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []
        channel.bound_buffer(_BUFFER_BYTES)

    def _take(self, message: bytes, *, is_text: bool) -> None:
        raise NotImplementedError

    def _on_end(self) -> None:
        """Nothing more is read or sent."""

    # --- from the web server ----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        self._input.received(data)

    def _read(self, data: bytes) -> None:
        """Reads a slice of what came."""
        protocol = self._protocol
        protocol.receive_data(data)
        if protocol.state is State.OPEN:
            # Pongs go first: a ping may come between the frames of a message.
            self._flush_protocol()
        for event in protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event)
        self._flush_protocol()
        if protocol.state is not State.OPEN and not self.is_ended:
            # It said goodbye, or what it sent is no WebSocket: the library has answered.
            self._finish()

    def resume_writing(self) -> None:
        while self._queue and not self._channel.is_paused:
            message = self._queue.popleft()
            self._bytes -= len(message)
            self._channel.write(message)
        if not self._queue and not self._channel.is_paused:
            self._wake()

    def connection_lost(self) -> None:
        self._input.stop()
        self._finish()
        if self._ending is not None:
            self._ending.cancel()

    def stop(self) -> None:
        self.end("service_stops")

    def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return  # the library answers pings
        if self.is_ended:
            return
        if not self._pieces:
            self._begun_at = time.monotonic()
            self._is_text = frame.opcode is Opcode.TEXT
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            body = b"".join(self._pieces)
            self._pieces = []
            if self._is_text and not _is_utf8(body):
                self._break_off(CloseCode.INVALID_DATA, "text that is not UTF-8")
                return
            self._take(body, is_text=self._is_text)
        elif len(self._pieces) > self.most_frames:
            self._break_off(CloseCode.MESSAGE_TOO_BIG, "too many frames")

    def _break_off(self, code: CloseCode, why: str) -> None:
        """What came is not WebSocket as the service speaks it."""
        self._protocol.fail(code, why)
        self._flush_protocol()
        self._finish()

    # --- sending ----------------------------------------------------------------------------------

    def _send(self, message: bytes, *, is_text: bool = True) -> None:
        if self.is_ended:
            return
        opcode = Opcode.TEXT if is_text else Opcode.BINARY
        frame = Frame(opcode, message).serialize(mask=False)
        if not self._queue and not self._channel.is_paused:
            self._channel.write(frame)
            return
        self._queue.append(frame)
        self._bytes += len(frame)
        if len(self._queue) > MOST_WAITING or self._bytes > MOST_WAITING_BYTES:
            self.end("too_slow")

    async def drained(self) -> None:
        """Returns when the client has taken what was sent, or is gone."""
        while (self._queue or self._channel.is_paused) and not self.is_ended:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def end(self, why: str) -> None:
        """Disconnects the client, with a close frame that says why."""
        self._say_goodbye(why, CloseCode.POLICY_VIOLATION)

    def _say_goodbye(self, why: str, code: int, notice: bytes = b"") -> None:
        """A last message, in place of those that wait, and a close frame."""
        if self.is_ended:
            return
        self._queue.clear()
        self._bytes = 0
        if notice:
            self._channel.write(Frame(Opcode.TEXT, notice).serialize(mask=False))
        self._protocol.send_close(code, why)
        self._flush_protocol()
        self._finish()

    def _finish(self) -> None:
        """Nothing more is sent but what was written."""
        if self.is_ended:
            return
        self.is_ended = True
        self._on_end()
        self._wake()
        if not self._channel.is_lost:
            self._channel.close()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(_GOODBYE_SECONDS, self._abort)

    def _abort(self) -> None:
        if not self._channel.is_lost:
            self._channel.abort()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _flush_protocol(self) -> None:
        chunks = [chunk for chunk in self._protocol.data_to_send() if chunk]
        if chunks:
            self._channel.write_all(chunks)

    def tick(self) -> None:
        """About every second: asks a silent client whether it is there."""
        now = time.monotonic()
        silent = now - self._heard_at
        if silent > _GONE_SECONDS:
            self._finish()
            self._abort()
        elif self._pieces and now - self._begun_at > _MESSAGE_SECONDS:
            self.end("message_timed_out")
        elif silent > _PING_SECONDS and now - self._asked_at > _PING_SECONDS / 2:
            self._asked_at = now
            self._protocol.send_ping(b"")
            self._flush_protocol()


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
