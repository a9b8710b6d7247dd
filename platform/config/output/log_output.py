"""The supervisor's output: nothing that happens to it ends or delays the service."""

import contextlib
import errno
import io
import os
import queue
import threading
from typing import Self, TextIO

from config.output.terminal import shown

# Lines that wait for a slow reader; further ones are dropped and counted.
_MOST_WAITING = 10_000
_CLOSING_SECONDS = 2.0


class LogOutput(io.TextIOBase):
    """Writes whole lines to a descriptor, in a thread of its own.

    A write that fails (a full disk, a closed terminal) drops its line; the next one that succeeds
    comes after a count of the dropped lines, and the reason. `has_left` becomes true when a pipe's
    reader is gone.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.has_left = False
        self._descriptor = descriptor
        self._begun = ""
        self._dropped = 0
        self._why = ""
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, stream: TextIO) -> Self:
        """The output of a stream, behind what was written to it before."""
        with contextlib.suppress(OSError):
            stream.flush()
        return cls(stream.fileno())

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._begun += text
        return len(text)

    def flush(self) -> None:
        text, self._begun = self._begun, ""
        if not text or self.has_left:
            return
        if self.isatty():
            text = shown(text)  # servers' own lines, too
        try:
            self._waiting.put_nowait(text.encode("utf-8", "replace"))
        except queue.Full:
            self._drop("their reader is too slow")

    def finish(self) -> None:
        """Waits for what was printed, but not for a reader that does not read."""
        self.flush()
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(_CLOSING_SECONDS)

    def _drop(self, why: str) -> None:
        self._dropped += 1
        self._why = why

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None and not self.has_left:
            if self._dropped:
                note = f"{self._dropped} lines of output were lost: {self._why}\n"
                if not self._write(note.encode()):
                    self._dropped += 1
                    continue
                self._dropped = 0
            if not self._write(data):
                self._dropped += 1

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self.has_left = error.errno == errno.EPIPE
            self._why = error.strerror or str(error)
            return False
        return True
