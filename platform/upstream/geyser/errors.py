"""Why a stream did not begin, or ended."""

from chain.units import Slot


class StreamError(Exception):
    """The stream is not there; the text says why, without the token."""


class Unreachable(StreamError):
    """No answer, or the connection broke: try again."""


class Lagged(StreamError):
    """We read too slowly and the server gave us up: what it had for us is lost to this stream."""


class FromSlotTooOld(StreamError):
    """The server no longer has the slot that the stream was to begin with; `first_available` is
    the oldest it has, None where it does not say, or `keeps_none`.
    """

    def __init__(
        self, text: str, first_available: Slot | None, *, keeps_none: bool = False
    ) -> None:
        super().__init__(text)
        self.first_available = first_available
        self.keeps_none = keeps_none


class StreamRefused(StreamError):
    """The server will not serve us: a wrong token, or a request that it does not know."""
