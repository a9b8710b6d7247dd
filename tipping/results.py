"""Results of the tip operations."""

from dataclasses import dataclass, field
from typing import Annotated

from solders.pubkey import Pubkey

from jsonrpc.wire import As


@dataclass(frozen=True, slots=True)
class TtlClass:
    """A class of tip addresses: how long they live.

    ttl_seconds: the least time that an address of it is valid
    available: whether a fetch of it would succeed now
    expires_at_if_fetched_now: when an address fetched now would expire, in Unix seconds; null if
        the class is not available
    """

    ttl_seconds: int
    available: bool
    expires_at_if_fetched_now: int | None


@dataclass(frozen=True, slots=True)
class FetchQuota:
    """The fetch limits of your key, or of callers without a key.

    fetch_rate_per_second: fetches a second
    fetch_burst: fetches at once after a pause
    fetch_daily_cap: fetches a UTC day; null if unlimited
    """

    fetch_rate_per_second: float
    fetch_burst: int
    fetch_daily_cap: int | None


@dataclass(frozen=True, slots=True)
class TipInfo:
    """The classes of tip addresses that can be fetched here, and the limits.

    ttl_classes: the classes, the shortest first
    default_ttl_seconds: the class of a fetch without `ttl`
    max_ttl_seconds: the maximum of `ttl`
    max_count: the maximum of `count`
    min_lamports: the smallest tip to an address; the chain refuses smaller transfers
    quota: your limits
    served_by: the name of this edge
    """

    ttl_classes: list[TtlClass]
    default_ttl_seconds: int
    max_ttl_seconds: int
    max_count: int
    min_lamports: int
    quota: FetchQuota
    served_by: str


@dataclass(frozen=True, slots=True)
class OneAddress:
    """The response to a fetch without parameters, for old clients.

    address: an address that is issued to you only
    validity_duration_seconds: its class
    expires_at: when it expires, in Unix seconds
    """

    address: Annotated[str, As(Pubkey)]
    validity_duration_seconds: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Addresses:
    """The response to a fetch with parameters.

    addresses: addresses that are issued to you only; fewer than requested if no more are left
    ttl_seconds: their class
    requested_ttl_seconds: the requested `ttl`
    expires_at: when all of them expire, in Unix seconds
    min_lamports: the smallest tip to an address; the chain refuses smaller transfers
    issued_by: the name of this edge; the addresses are valid at every edge
    """

    addresses: Annotated[list[str], As(list[Pubkey])]
    ttl_seconds: int
    requested_ttl_seconds: int
    expires_at: int
    min_lamports: int
    issued_by: str


@dataclass(frozen=True, slots=True)
class NotValid:
    """An address that was never issued, or has expired.

    address: the requested address
    valid: always false
    """

    address: Annotated[str, As(Pubkey)]
    valid: bool = False


@dataclass(frozen=True, slots=True)
class Valid:
    """An address that may be tipped.

    address: the requested address
    valid: always true
    is_static: whether it never expires
    expires_at: when it expires, in Unix seconds; null for a static one
    """

    address: Annotated[str, As(Pubkey)]
    valid: bool = field(default=True, init=False)
    is_static: bool
    expires_at: int | None


def base58(pubkey: bytes) -> str:
    return str(Pubkey.from_bytes(pubkey))
