"""The ladder of TTLs: which rung a fetch gets."""

from collections.abc import Sequence


def snapped(ttls: Sequence[int], ttl: int) -> int | None:
    """The place of the smallest TTL that is not below the asked one, in an ascending ladder; None
    when all are below it.
    """
    return next((place for place, each in enumerate(ttls) if each >= ttl), None)
