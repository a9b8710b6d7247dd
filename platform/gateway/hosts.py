"""Host name → Host: the tier host that a request names."""

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http.request import split_domain_port, validate_host


class Kind(enum.StrEnum):
    """RPC and QOS are the tier hosts; ALL_IN_ONE serves every operation at the key's own tier."""

    RPC = "rpc"
    QOS = "qos"
    ALL_IN_ONE = "all-in-one"


@dataclass(frozen=True, slots=True)
class Host:
    """One host. `label` is `{tier}.{kind}` on tier hosts; `rank` is the least tier rank of a key
    that may use it (0: any key, and none).
    """

    kind: Kind
    tier: str | None = None
    label: str = ""
    rank: int = 0


# A tier host's rank is the default rank of the tier of that name: keys of that rank or above may
# use it.
RANKS = {"public": 0, "lite": 0, "basic": 10, "ultra": 20, "elite": 30, "epic": 40}
RPC_TIERS = ("basic", "ultra", "elite", "epic")
QOS_TIERS = ("basic", "ultra", "elite")

# The sets for an endpoint's policy; the all-in-one host serves everything and is in none.
PUBLIC = frozenset({"public.rpc"})
ARCHIVE = frozenset(f"{tier}.rpc" for tier in RPC_TIERS)
LEDGER = PUBLIC | ARCHIVE
LANDING = ARCHIVE | frozenset(f"{tier}.qos" for tier in QOS_TIERS)
EVERY = PUBLIC | LANDING

ALL_IN_ONE = Host(Kind.ALL_IN_ONE)
# A name of DNS, and its port.
_LONGEST = 253 + 6
# `lite` is a known host that serves nothing yet: its paths answer 404, not its name.
_TIER_HOSTS = {
    label: Host(Kind(label.partition(".")[2]), label.partition(".")[0], label, rank)
    for label, rank in [(label, RANKS[label.partition(".")[0]]) for label in EVERY | {"lite.rpc"}]
}


def host_of(header: str) -> Host | None:
    """The Host that a `Host:` header names (port and case do not matter), or None."""
    if len(header) > _LONGEST:
        return None
    return _host_of(header)


@lru_cache(maxsize=1_000)
def _host_of(header: str) -> Host | None:
    name, _port = split_domain_port(header)
    if not name:
        return None
    label = name.removesuffix("." + settings.DOMAIN.lower())
    if label != name:
        if label in _TIER_HOSTS:
            return _TIER_HOSTS[label]
        if label.endswith((".rpc", ".qos")) or label in ("rpc", "qos"):
            return None  # a misspelt tier must not become the all-in-one host by a wildcard
    return ALL_IN_ONE if validate_host(name, settings.ALLOWED_HOSTS) else None


@receiver(setting_changed)
def _forget(**_changed: Any) -> None:
    _host_of.cache_clear()
