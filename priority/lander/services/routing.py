"""Selects the upstreams of a submission: by the caller's choice, or by tier and weight."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Protocol, TypeVar

from priority.models import Submission
from priority.submissions import BUNDLE_NAME, Accepted
from priority.upstreams.models import Upstream
from priority.upstreams.store import UpstreamRow


class _HasRow(Protocol):
    @property
    def row(self) -> UpstreamRow: ...


_Way = TypeVar("_Way", bound=_HasRow)


def chosen(active: Sequence[_Way], accepted: Accepted) -> list[_Way]:
    """The upstreams to send to; empty only if none of that kind serves the tier."""
    serving = [
        upstream
        for upstream in active
        if _serves(upstream.row, accepted) and _takes(upstream.row, accepted)
    ]
    engines = [upstream for upstream in serving if upstream.row.kind == Upstream.Kind.BLOCK_ENGINE]
    others = [upstream for upstream in serving if upstream.row.kind != Upstream.Kind.BLOCK_ENGINE]
    signature = accepted.signatures[0]
    if accepted.kind == Submission.Kind.BUNDLE:
        return _by_weight(engines, signature)
    only = set(accepted.only)
    if not only:
        # An upstream chosen as an extra must not be the only one.
        return _by_weight(others, signature) + _lots(engines, signature)
    if BUNDLE_NAME in only:
        only.update(upstream.row.name.lower() for upstream in engines)
    return [upstream for upstream in [*others, *engines] if upstream.row.name.lower() in only]


def _serves(row: UpstreamRow, accepted: Accepted) -> bool:
    ours = accepted.kind == Submission.Kind.SWEEP
    return ours or not row.tiers or accepted.tier in row.tiers


def _takes(row: UpstreamRow, accepted: Accepted) -> bool:
    """Whether it takes the submission: a drained one only takes those accepted before."""
    since = row.draining_since
    return since is None or accepted.received_at < since.timestamp()


def _by_weight(active: Sequence[_Way], signature: bytes) -> list[_Way]:
    """A weighted selection; never empty, if there are any."""
    return _lots(active, signature) or sorted(active, key=lambda upstream: -upstream.row.weight)[:1]


def _lots(active: Iterable[_Way], signature: bytes) -> list[_Way]:
    return [
        upstream
        for upstream in active
        if upstream.row.weight >= 100 or _lot(upstream.row.name, signature) < upstream.row.weight
    ]


def _lot(name: str, signature: bytes) -> int:
    """0 to 99; the same at every attempt of a signature."""
    digest = blake2b(signature, digest_size=8, key=name.encode()[:64]).digest()
    return int.from_bytes(digest) % 100
