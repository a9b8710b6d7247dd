"""What the tip operations answer, field for field."""

from dataclasses import dataclass, field
from typing import Annotated

from solders.pubkey import Pubkey

from jsonrpc.wire import As


@dataclass(frozen=True, slots=True)
class TtlClass:
    """A class of tip addresses: how long they live.

    ttl_seconds: for so long an address of it is good at least
    available: whether a fetch of it would be answered now
    expires_at_if_fetched_now: until when an address would be good, in Unix seconds; null exactly
        when it is not available
    """

    ttl_seconds: int
    available: bool
    expires_at_if_fetched_now: int | None


@dataclass(frozen=True, slots=True)
class FetchQuota:
    """What your key may fetch, or a caller without a key.

    fetch_rate_per_second: so many fetches a second
    fetch_burst: so many at once after a pause
    fetch_daily_cap: so many a UTC day; null is no cap
    """

    fetch_rate_per_second: float
    fetch_burst: int
    fetch_daily_cap: int | None


@dataclass(frozen=True, slots=True)
class TipInfo:
    """The classes of tip addresses that can be fetched here, and the limits.

    ttl_classes: the ladder of classes, the shortest first
    default_ttl_seconds: the class of a fetch that names no `ttl`
    max_ttl_seconds: the most that `ttl` may be
    max_count: the most that `count` may be
    min_lamports: an address must be tipped at least this, or the chain refuses the transfer
    quota: your limits
    served_by: the service's name of itself
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
    """What a fetch without any parameter answers, for old clients.

    address: an address that nobody else ever gets
    validity_duration_seconds: its class
    expires_at: until when it is good, in Unix seconds
    """

    address: Annotated[str, As(Pubkey)]
    validity_duration_seconds: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Addresses:
    """What a fetch with any parameter answers.

    addresses: addresses that nobody else ever gets; fewer than asked for where no more are left now
    ttl_seconds: their class
    requested_ttl_seconds: the `ttl` that was asked for
    expires_at: until when all of them are good, in Unix seconds
    min_lamports: an address must be tipped at least this, or the chain refuses the transfer
    issued_by: the service's name of itself; the addresses are good everywhere
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

    address: the address that was asked about
    valid: always false
    """

    address: Annotated[str, As(Pubkey)]
    valid: bool = False


@dataclass(frozen=True, slots=True)
class Valid:
    """An address that may be tipped.

    address: the address that was asked about
    valid: always true
    is_static: whether it is good for ever
    expires_at: until when it is good, in Unix seconds; null for a static one
    """

    address: Annotated[str, As(Pubkey)]
    valid: bool = field(default=True, init=False)
    is_static: bool
    expires_at: int | None


def base58(pubkey: bytes) -> str:
    return str(Pubkey.from_bytes(pubkey))
