"""What every sender can do, and why a submission does not go one way for now."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from priority.lander.active_submissions import ActiveSubmission


class NotNow(Exception):
    """This way takes the submission not now, or never; nothing was attempt. The text begins with a
    stable word.
    """


class Unusable(Exception):
    """The upstream's row leads nowhere: the text says why."""


# Called once with the upstream's answer, or with SubmitError, TpuError or NotNow.
Done = Callable[[str | Exception], None]


class Delivery(NamedTuple):
    """One try by one way: whom it goes to, and what sends it. `start` returns at once, and before
    it reports anything.
    """

    target: str
    start: Callable[[Done], None]


class Sender(Protocol):
    """The machinery of one upstream, for one event loop."""

    def deliveries(self, submission: ActiveSubmission) -> list[Delivery]:
        """At least one. Raises NotNow."""

    async def warm(self) -> None:
        """Called every second or two; never raises."""

    async def close(self) -> None: ...
