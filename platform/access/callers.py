"""Caller: the identity and rights of a request's caller, as values kept in the key cache."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network

SCOPES = ("priority", "bundle", "rewind", "historical", "simulate", "proxy")
QUOTAS = ("requests", "bundles", "tip_fetches")
ANONYMOUS = "anonymous"

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Quota:
    """The parameters of a token bucket: it fills at `rate` per second and holds at most `burst`."""

    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class MonthSpent:
    """A month whose quota is reached: `used` of `limit`, until `resets_at`."""

    limit: int
    used: int
    resets_at: datetime


@dataclass(frozen=True, slots=True, eq=False)  # one object per load: compared by identity
class Caller:
    """The holder of a key, or (key_id None) a caller without a key.

    `quotas` has a Quota for each name of QUOTAS; an absent name is unlimited. `methods` are the
    methods that the key may call; None is all. `narrowed`: it has such a list, or its month's quota
    is reached. Times are aware datetimes.
    """

    key_id: int | None
    tier: str
    rank: int
    scopes: frozenset[str]
    networks: tuple[Network, ...]
    quotas: Mapping[str, Quota]
    suspended: bool = False
    expires_at: datetime | None = None
    tip_fetch_daily_cap: int | None = None
    landing_weight: int = 1
    simulation_jobs: int = 0
    simulations_per_job: int = 0
    stream_connections: int = 0
    stream_subscriptions: int = 0
    stream_notifications_per_second: int | None = None
    stream_bytes_per_month: int | None = None
    methods: frozenset[str] | None = None
    origins: tuple[str, ...] = ()
    month_spent: MonthSpent | None = None
    narrowed: bool = field(init=False)

    def __post_init__(self) -> None:
        narrowed = self.methods is not None or self.month_spent is not None
        object.__setattr__(self, "narrowed", narrowed)
