"""The ways out: rows as a lander reads them again and again."""

from datetime import datetime
from typing import NamedTuple

from priority.models import Upstream


class UpstreamRow(NamedTuple):
    """An enabled upstream; `tiers` empty: it serves all."""

    id: int
    name: str
    kind: str
    url: str
    tiers: frozenset[str]
    weight: int
    own_tip_lamports: int
    timeout_ms: int
    broken_until: datetime | None


def enabled_upstreams() -> list[UpstreamRow]:
    """By name."""
    return [
        UpstreamRow(
            id=each.pk,
            name=each.name,
            kind=each.kind,
            url=each.url.strip(),
            tiers=frozenset(tier.name for tier in each.tiers.all()),
            weight=each.weight,
            own_tip_lamports=each.own_tip_lamports,
            timeout_ms=each.timeout_ms,
            broken_until=each.broken_until,
        )
        for each in Upstream.objects.filter(is_enabled=True).prefetch_related("tiers")
    ]


def mark_broken(upstream_id: int, *, until: datetime | None, reason: str) -> None:
    """The circuit breaker's state, for people: open until then, or closed."""
    Upstream.objects.filter(pk=upstream_id).update(broken_until=until, broken_reason=reason[:300])
