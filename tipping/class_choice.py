"""Which TTL class a fetch gets."""

from collections.abc import Sequence


def smallest_fitting(ttls: Sequence[int], ttl: int) -> int | None:
    """The index of the smallest of the ascending TTLs that is at least `ttl`; None if all are
    smaller.
    """
    return next((index for index, each in enumerate(ttls) if each >= ttl), None)
