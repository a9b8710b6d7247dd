"""Which ways a submission goes: as the caller chose, or by tier and weight."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Protocol, TypeVar

from priority.models import Submission, Upstream
from priority.store.upstreams import UpstreamRow
from priority.submissions import BUNDLE_NAME, Accepted


class _HasRow(Protocol):
    @property
    def row(self) -> UpstreamRow: ...


_Way = TypeVar("_Way", bound=_HasRow)


def chosen(ways: Sequence[_Way], accepted: Accepted) -> list[_Way]:
    """All that shall race; empty only where no way of that kind serves the tier."""
    serving = [way for way in ways if _serves(way.row, accepted) and _takes(way.row, accepted)]
    engines = [way for way in serving if way.row.kind == Upstream.Kind.BLOCK_ENGINE]
    others = [way for way in serving if way.row.kind != Upstream.Kind.BLOCK_ENGINE]
    signature = accepted.signatures[0]
    if accepted.kind == Submission.Kind.BUNDLE:
        return _by_weight(engines, signature)
    only = set(accepted.only)
    if not only:
        # That forward is an extra: where nothing else is left, it alone must not decide.
        return _by_weight(others, signature) + _lots(engines, signature)
    if BUNDLE_NAME in only:
        only.update(way.row.name.lower() for way in engines)
    return [way for way in [*others, *engines] if way.row.name.lower() in only]


def _serves(row: UpstreamRow, accepted: Accepted) -> bool:
    ours = accepted.kind == Submission.Kind.SWEEP
    return ours or not row.tiers or accepted.tier in row.tiers


def _takes(row: UpstreamRow, accepted: Accepted) -> bool:
    """One that is drained goes on with what was accepted before, until that is settled."""
    since = row.draining_since
    return since is None or accepted.received_at < since.timestamp()


def _by_weight(ways: Sequence[_Way], signature: bytes) -> list[_Way]:
    """Those whose lot it is; never none, if there are any."""
    return _lots(ways, signature) or sorted(ways, key=lambda way: -way.row.weight)[:1]


def _lots(ways: Iterable[_Way], signature: bytes) -> list[_Way]:
    return [
        way
        for way in ways
        if way.row.weight >= 100 or _lot(way.row.name, signature) < way.row.weight
    ]


def _lot(name: str, signature: bytes) -> int:
    """0 to 99; the same at every try of a signature."""
    digest = blake2b(signature, digest_size=8, key=name.encode()[:64]).digest()
    return int.from_bytes(digest) % 100
