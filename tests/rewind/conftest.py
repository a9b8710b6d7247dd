"""The archive that the tests of this folder write."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from columns.kept import forget_all

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
TABLES = (
    "accountchange",
    "owner",
    "filteredpubkey",
    "archivedslot",
    "slottally",
    "gap",
    "baseline",
    "epochstake",
    "archivestate",
    "accountsegments",
    "droppedaccount",
    "sealedsegment",
    "sealedblock",
    "laterow",
    "sealeddamage",
    "segmentscrub",
    "slotowners",
    "slotwrites",
    "slotproof",
    "proofrun",
    "neweststate",
    "runtimeaccount",
    "stakeaccount",
    "staketurn",
)


@pytest.fixture(autouse=True)
def no_node(settings: Any) -> None:
    """Whatever listens where localnet would is not of these tests' chains."""
    settings.UPSTREAM_RPC_URL = ""


@pytest.fixture(autouse=True)
def few_slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts are indexed, and carried over a window's edge, in 4 transactions instead of 256,
    which take half a second.
    """
    from rewind.sealed.store import segments

    if "all_slices" not in request.fixturenames:
        monkeypatch.setattr(segments, "SLICES", 4)


@pytest.fixture
def all_slices() -> None:
    """In 256, for tests of what happens between two of them."""


@pytest.fixture
def record(db: None) -> Callable[..., Any]:
    """`record(slot, …)` puts records into the archive, in one transaction."""
    from rewind.recording.services.recording import record_slots

    def put(*records: Any, source: str = "stream", now: datetime = NOW) -> Any:
        return record_slots(list(records), source=source, now=now)

    return put


def empty_archive() -> None:
    """Nothing is archived, and nothing committed by others is left."""
    from rewind.recording.store import partitions
    from tests import emptying

    emptying.truncate_filled([f"rewind_{name}" for name in TABLES])
    for partition in partitions.existing():
        partitions.drop(partition)


@pytest.fixture
def committed(transactional_db: None) -> Iterator[None]:
    """What is written is committed, seen by other threads, and gone after the test."""

    forget_all()
    empty_archive()  # of partitions, too, that a test of another folder left
    yield
    empty_archive()
