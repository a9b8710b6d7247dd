"""The interface of senders, and why one cannot send a submission now."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from priority.lander.services.active_submissions import ActiveSubmission


class NotNow(Exception):
    """The upstream cannot take the submission now or at all; nothing was sent. The text begins
    with a stable word.
    """


class Unusable(Exception):
    """The upstream's row cannot be used: the text says why."""


# Called once with the upstream's answer, or with SubmitError, TpuError or NotNow.
Done = Callable[[str | Exception], None]


class Delivery(NamedTuple):
    """One attempt at one upstream: its target, and what sends it. `start` returns at once,
    and before it reports anything.
    """

    target: str
    start: Callable[[Done], None]


class Sender(Protocol):
    """Sends to one upstream, for one event loop."""

    def deliveries(self, submission: ActiveSubmission) -> list[Delivery]:
        """At least one. Raises NotNow."""

    async def warm(self) -> None:
        """Called every second or two; never raises."""

    async def close(self) -> None: ...
