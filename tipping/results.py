"""What the tip operations answer, field for field."""

from dataclasses import dataclass, field

from solders.pubkey import Pubkey


@dataclass(frozen=True, slots=True)
class TtlClass:
    """One rung: `expires_at_if_fetched_now` is None exactly when it is not available."""

    ttl_seconds: int
    available: bool
    expires_at_if_fetched_now: int | None


@dataclass(frozen=True, slots=True)
class FetchQuota:
    """What the caller may fetch."""

    fetch_rate_per_second: float
    fetch_burst: int
    fetch_daily_cap: int | None


@dataclass(frozen=True, slots=True)
class TipInfo:
    """The ladder, and the caller's limits."""

    ttl_classes: list[TtlClass]
    default_ttl_seconds: int
    max_ttl_seconds: int
    max_count: int
    min_lamports: int
    quota: FetchQuota
    served_by: str


@dataclass(frozen=True, slots=True)
class OneAddress:
    """A fetch without parameters, for clients of the first hour."""

    address: str
    validity_duration_seconds: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Addresses:
    """A fetch with any parameter. `expires_at` holds for all of the addresses."""

    addresses: list[str]
    ttl_seconds: int
    requested_ttl_seconds: int
    expires_at: int
    min_lamports: int
    issued_by: str


@dataclass(frozen=True, slots=True)
class NotValid:
    """An address that was never issued, or has expired."""

    address: str
    valid: bool = False


@dataclass(frozen=True, slots=True)
class Valid:
    """An address that may be tipped; a static one for ever."""

    address: str
    valid: bool = field(default=True, init=False)
    is_static: bool
    expires_at: int | None


def base58(pubkey: bytes) -> str:
    return str(Pubkey.from_bytes(pubkey))
