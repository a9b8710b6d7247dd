"""WebSockets: an upgraded connection that reads frames to whole messages, and sends messages.

Frames are the package `websockets`', without its network layer.
"""

import asyncio
import time
from codecs import utf_8_decode
from collections import deque

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

from webserver.paced_input import FIRST_FRAMES, PacedInput, Share
from webserver.upgrades import Channel

# Above it what the client sends is not read: pings are answered whether it reads or not.
_MOST_UNSENT = 1_048_576
# The system's own buffer, which would take megabytes more.
_BUFFER_BYTES = 262_144
# A client that was silent for so long is asked whether it is there, and is gone after so long.
_PING_SECONDS = 20.0
_GONE_SECONDS = 60.0
# How long a client that is disconnected may take to read why.
_GOODBYE_SECONDS = 5.0
# What a client may have sent by then without knowing.
_GOODBYE_BYTES = 4 * 1_048_576
# A message that was begun has to be whole by then.
_MESSAGE_SECONDS = 20.0


class _Reader(Protocol):
    """Reads frames to whole messages. What breaks a rule ends the connection at its place: what was
    whole before is a message, and nothing is behind it.
    """

    __slots__ = (
        "_is_text",
        "_letter",
        "_most_bytes",
        "_most_frames",
        "_pieces",
        "_size",
        "begun_at",
        "messages",
    )

    def __init__(self, most_bytes: int, most_frames: int) -> None:
        # The maximum is of a frame: the library would count pings as parts of the message.
        super().__init__(Side.SERVER, state=State.OPEN, max_size=(None, most_bytes))
        self.messages: list[tuple[bytes, bool]] = []  # and whether each is text
        self.begun_at: float | None = None  # of a message that is not whole
        self._most_bytes, self._most_frames = most_bytes, most_frames
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_text = False
        self._letter = b""  # the beginning of one that is not whole

    def recv_frame(self, frame: Frame) -> None:
        """Called by the library for each frame that came whole."""
        if frame.opcode is Opcode.CLOSE:
            # A client may leave before its message is whole (RFC 6455, section 5.4), which the
            # library takes for an error.
            self.current_size = None
        super().recv_frame(frame)
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._add(frame, bytes(frame.data))

    def _add(self, frame: Frame, piece: bytes) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
            self.begun_at = None if frame.fin else time.monotonic()
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most_bytes:
            self.fail(CloseCode.MESSAGE_TOO_BIG, f"more than {self._most_bytes} bytes")
        elif not frame.fin and len(self._pieces) >= self._most_frames:
            self.fail(CloseCode.MESSAGE_TOO_BIG, f"more than {self._most_frames} frames")
        elif self._is_text and not self._is_utf8(piece, is_last=frame.fin):
            self.fail(CloseCode.INVALID_DATA, "text that is not UTF-8")
        elif frame.fin:
            self.messages.append((b"".join(self._pieces), self._is_text))
            self._pieces, self._size, self.begun_at = [], 0, None

    def _is_utf8(self, piece: bytes, *, is_last: bool) -> bool:
        text = self._letter + piece
        try:
            _, size = utf_8_decode(text, "strict", is_last)
        except UnicodeDecodeError:
            return False
        self._letter = text[size:]
        return True


class WebSocket:
    """Used on the event loop: the handler of an upgraded connection, which gives each message to
    `_take`. Who makes it calls `tick` about every second.
    """

    # Bytes and frames of a message.
    most_bytes = 65_536
    most_frames = 1_024
    # Messages that wait for a client that does not read, and bytes besides the largest and the
    # newest of them, which may be larger than this themselves: above it is disconnected.
    most_waiting = 20_000
    most_waiting_bytes = 4 * 1_048_576

    __slots__ = (
        "_asked_at",
        "_channel",
        "_ending",
        "_heard_at",
        "_ignored",
        "_input",
        "_largest",
        "_protocol",
        "_queue",
        "_taken",
        "is_ended",
        "unread_bytes",
    )

    def __init__(self, channel: Channel, share: Share) -> None:
        self.is_ended = False
        self._channel = channel
        self._protocol = _Reader(self.most_bytes, self.most_frames)
        self._queue: deque[bytes] = deque()
        self._largest = 0
        self.unread_bytes = 0
        self._heard_at = time.monotonic()
        self._input = PacedInput(
            channel,
            share,
            read=self._read,
            is_over=lambda: self._protocol.state is not State.OPEN,
            size=FIRST_FRAMES,
        )
        self._asked_at = 0.0
        self._ignored = 0  # bytes that came behind the end
        self._ending: asyncio.TimerHandle | None = None
        self._taken = asyncio.Event()  # for a moment, when what was sent is taken
        channel.bound_buffer(_BUFFER_BYTES)

    @property
    def is_open(self) -> bool:
        """Neither side has said goodbye."""
        return not self.is_ended and self._protocol.state is State.OPEN

    def _take(self, message: bytes, *, is_text: bool) -> None:
        raise NotImplementedError

    def _on_end(self) -> None:
        """Nothing more is read or sent."""

    # --- from the web server ----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.is_ended:
            self._ignored += len(data)
            if self._ignored > _GOODBYE_BYTES:
                self._abort()
            return
        self._heard_at = time.monotonic()
        self._input.received(data)

    def _read(self, data: bytes) -> None:
        """Reads a slice of what came."""
        protocol = self._protocol
        protocol.receive_data(data)
        protocol.events_received()  # its frames are read
        chunks = [chunk for chunk in protocol.data_to_send() if chunk]
        # Pongs go first: a ping may come between the frames of a message. A close frame goes last.
        last = [] if protocol.state is State.OPEN else [chunks.pop()]
        self._write(chunks)
        messages, protocol.messages = protocol.messages, []
        for message, is_text in messages:
            if not self.is_ended:
                self._take(message, is_text=is_text)
        self._write(last)
        if last:
            # It said goodbye, or what it sent is no WebSocket: the library has answered.
            self._finish()
        if self._channel.unsent > _MOST_UNSENT:
            self._input.hold()

    def resume_writing(self) -> None:
        while self._queue and not self._channel.is_paused:
            message = self._queue.popleft()
            self._waits(-len(message))
            self._channel.write(message)
        if self._channel.is_paused:
            return
        self._wake()
        self._input.release()

    def connection_lost(self) -> None:
        self._input.stop()
        self._finish()
        if self._ending is not None:
            self._ending.cancel()

    def stop(self) -> None:
        self.end("service_stops")

    # --- sending ----------------------------------------------------------------------------------

    def _send(self, message: bytes, *, is_text: bool = True) -> None:
        if self.is_ended:
            return
        opcode = Opcode.TEXT if is_text else Opcode.BINARY
        frame = Frame(opcode, message).serialize(mask=False)
        if not self._queue and not self._channel.is_paused:
            self._channel.write(frame)
            return
        self._largest = max(self._largest, len(frame)) if self._queue else len(frame)
        is_full = self.unread_bytes - self._largest > self.most_waiting_bytes
        self._queue.append(frame)
        self._waits(len(frame))
        if is_full or len(self._queue) > self.most_waiting:
            self.end("too_slow")

    def _waits(self, size: int) -> None:
        """So many bytes more wait for the client, or fewer."""
        self.unread_bytes += size

    async def drained(self) -> None:
        """Returns when the client has taken what was sent, or is gone."""
        while (self._queue or self._channel.is_paused) and not self.is_ended:
            await self._taken.wait()

    def end(self, why: str) -> None:
        """Disconnects the client, with a close frame that says why."""
        self._say_goodbye(why, CloseCode.POLICY_VIOLATION)

    def _say_goodbye(self, why: str, code: int, notice: bytes = b"") -> None:
        """A last message, in place of those that wait, and a close frame."""
        if not self.is_open:
            return
        self._queue.clear()
        self._waits(-self.unread_bytes)
        if notice:
            self._channel.write(Frame(Opcode.TEXT, notice).serialize(mask=False))
        self._protocol.send_close(code, why)
        self._write(self._protocol.data_to_send())
        self._finish()

    def _finish(self) -> None:
        """Nothing more is sent but what was written."""
        if self.is_ended:
            return
        self.is_ended = True
        self._queue.clear()
        self._waits(-self.unread_bytes)
        self._on_end()
        self._wake()
        if not self._channel.is_lost:
            self._input.stop()
            self._channel.finish()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(_GOODBYE_SECONDS, self._abort)

    def _abort(self) -> None:
        if not self._channel.is_lost:
            self._channel.abort()

    def _wake(self) -> None:
        self._taken.set()
        self._taken.clear()

    def _write(self, chunks: list[bytes]) -> None:
        if chunks:
            self._channel.write_all(chunks)

    def tick(self) -> None:
        """About every second: asks a silent client whether it is there."""
        now = time.monotonic()
        silent = now - self._heard_at
        if silent > _GONE_SECONDS:
            self._finish()
            self._abort()
        elif now - (self._protocol.begun_at or now) > _MESSAGE_SECONDS:
            self.end("message_timed_out")
        elif silent > _PING_SECONDS and now - self._asked_at > _PING_SECONDS / 2:
            self._asked_at = now
            self._protocol.send_ping(b"")
            self._write(self._protocol.data_to_send())
