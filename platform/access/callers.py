"""Caller: who calls and what they may do, as plain values made once and kept in the key cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network

SCOPES = ("priority", "bundle", "rewind", "historical", "simulate", "proxy")
QUOTAS = ("requests", "bundles", "tip_fetches")
ANONYMOUS = "anonymous"

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Quota:
    """A token bucket's terms: it fills at `rate` per second and holds at most `burst`."""

    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class MonthSpent:
    """A month whose calls are all used: `used` of `limit`, until `resets_at`."""

    limit: int
    used: int
    resets_at: datetime


@dataclass(frozen=True, slots=True, eq=False)  # one object per load: compared by identity
class Caller:
    """One key's holder, or (key_id None) someone without a key.

    `quotas` has a Quota per name of QUOTAS; a name that is absent is unlimited. `methods` has the
    only methods that the key may call; None is all. `narrowed`: it has such a list, or its month is
    spent. Times are aware datetimes.
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
    simulation_jobs: int = 0
    simulations_per_job: int = 0
    methods: frozenset[str] | None = None
    month_spent: MonthSpent | None = None
    narrowed: bool = False
