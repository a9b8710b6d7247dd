"""Memory: where a subscription that begins in the past stands."""

from subscriptions.configs import FromConfig, signature_of
from subscriptions.kinds import Result
from subscriptions.stored_first import Progress

_MOST_WAITING = 2_000
_MOST_DELIVERED = 4_000


class Memory(Progress[list[Result]]):
    """`after` is the index in the next slot up to which transactions are left out, -1 for none."""

    def __init__(self, from_slot: int | None, from_signature: str | None) -> None:
        position = -1 if from_slot is None else from_slot - 1
        super().__init__(position, most_waiting=_MOST_WAITING, most_delivered=_MOST_DELIVERED)
        self.after = (-1, -1)
        self.from_signature = from_signature


def memory_of(config: FromConfig) -> Memory | None:
    """None without a beginning. Raises InvalidParams."""
    if config.from_signature is not None:
        signature_of(config.from_signature)
    if config.from_slot is None and config.from_signature is None:
        return None
    return Memory(config.from_slot, config.from_signature)
