"""Changes of fates for each customer that submitted the same transaction."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from priority.fates.reasons import for_others
from priority.fates.services.announcing import FateChange
from priority.fates.store import cosubmitters
from priority.submissions import State


class Shared(NamedTuple):
    """A change as another submitter than that of the row learns of it; `is_first` for one key of
    each other customer.
    """

    change: FateChange
    is_first: bool


def shared(changes: Sequence[FateChange]) -> list[Shared]:
    """The changes for the other keys that submitted the same, in the order in which they did. How
    the first one had it sent is not for them.
    """
    found = cosubmitters.others([each.signature for each in changes])
    return [
        Shared(
            each._replace(
                key_id=other.key_id,
                bundle_id=other.bundle_id,
                queue_ms=None,
                reason=for_others(each.reason, refused=each.state is State.REFUSED),
                stopped=for_others(each.stopped, refused=False),
            ),
            other.is_first,
        )
        for each in changes
        for other in found.get(each.signature, ())
        if other.key_id != each.key_id
    ]


def once_each(others: Iterable[Shared]) -> list[FateChange]:
    """The changes, one for each other customer."""
    return [each.change for each in others if each.is_first]
