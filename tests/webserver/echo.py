"""A WebSocket that returns each message: `application.upgrade` of a served application."""

import time

from webserver.paced_input import Share
from webserver.upgrades import Channel
from webserver.websocket import WebSocket


class Echo(WebSocket):
    """With messages as large as the Autobahn suite's: 16 MB, in 65,536 frames."""

    most_bytes = 32 * 1_048_576
    most_frames = 100_000

    def _take(self, message: bytes, *, is_text: bool) -> None:
        self._send(message, is_text=is_text)


def echo(channel: Channel) -> Echo:
    return Echo(channel, Share(time.monotonic()))
