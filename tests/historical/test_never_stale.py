"""Reads by two web processes beside commits and removals: no answer is of a state that had gone."""

from pathlib import Path

import pytest
from django.utils import timezone

from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from tests.conftest import Rpc
from tests.historical import racing
from tests.historical.races import Commit, Read, State, Version, check
from tests.historical.racing_writer import FIRST_SLOT, record_of, version_of

_READS = 8_000  # a million in tests/soak/test_never_stale.py


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_redis")
def test_no_read_by_two_web_processes_is_older_than_the_last_commit(
    api_key: str, tmp_path: Path
) -> None:
    found = racing.race(tmp_path, api_key, servers=(1, 1), readers=1, connections=6, reads=_READS)
    assert not found.violations, "\n".join([f"{len(found.violations)}:", *found.violations[:5]])
    # How many the writer makes meanwhile is the machine's matter; a thousand in the long run.
    assert found.states_seen > 10
    assert found.beside_a_commit > 100


def _state(*slots: int) -> State:
    return {slot: Version(slot, f"hash {slot}", slot, "made", {}) for slot in slots}


def test_a_block_recorded_anew_is_served_as_its_new_source_wrote_it(
    rpc: Rpc, empty_ledger: None
) -> None:
    """Its blockhash is the same, and its transactions' texts are longer."""
    slot = FIRST_SLOT + 1
    signatures = list(version_of(slot, 1, 0).transactions)
    for form in (0, 1):
        remove_blocks(slot, slot)
        record_blocks([record_of(slot, 1, form)], now=timezone.now())
        mark = version_of(slot, 1, form).mark
        block = rpc("/historical", "getBlock", slot)["result"]["transactions"]
        alone = [rpc("/historical", "getTransaction", each)["result"] for each in signatures]
        assert [each["meta"]["logMessages"][0] for each in [*block, *alone]] == [mark] * 4


# What the writer of these committed: a block at 1, at 2, and 1 again removed.
_COMMITS = [
    Commit(0, 0, _state(), "empty"),
    Commit(100, 110, _state(1), "1"),
    Commit(200, 210, _state(1, 2), "2"),
    Commit(300, 310, _state(2), "1 removed"),
]


def _read(sent: int, received: int, *seen: object) -> Read:
    return Read(sent, received, "a reader", "a request", (seen,))


@pytest.mark.parametrize(
    ("reads", "violations"),
    [
        # before a commit, beside it either way, and after it
        ([_read(20, 90, "newest", None), _read(150, 160, "newest", 1)], 0),
        ([_read(105, 107, "newest", None)], 0),
        ([_read(105, 107, "newest", 1)], 0),
        ([_read(95, 350, "first", 2)], 0),
        # the commit had finished before it was sent
        ([_read(111, 120, "newest", None)], 1),
        ([_read(320, 330, "first", 1)], 1),
        # not begun when the answer came
        ([_read(10, 99, "newest", 1)], 1),
        # in no state at all
        ([_read(10, 400, "blocks", (0, 9), (3,))], 1),
        # a list that ends with what was the newest block when it was asked for, or does not
        ([_read(150, 350, "blocks", (0, 9), ())], 0),
        ([_read(220, 350, "blocks", (0, 9), ())], 1),
        # each is right alone, and the second goes back behind the first
        ([_read(201, 203, "newest", 2), _read(204, 206, "newest", 1)], 1),
        # two that overlap may come in either order
        ([_read(201, 205, "newest", 2), _read(204, 206, "newest", 1)], 0),
        # a state that came back is no older one
        ([_read(105, 106, "newest", 1), _read(305, 306, "absent", 1)], 0),
    ],
)
def test_the_check_itself_finds_what_is_stale(reads: list[Read], violations: int) -> None:
    assert len(check(_COMMITS, reads).violations) == violations
