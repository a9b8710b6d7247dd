"""The stakes of epochs, as they follow from the archive's own accounts at the epochs' turns."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.sysvar import RENT, STAKE_HISTORY

from chain.accounts import AccountWrite
from chain.addresses import STAKE, VOTE
from chain.epochs import EpochSchedule
from chain.units import Slot
from rewind.baselines.models import Baseline, StakeTurn
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services import epochs
from rewind.proof.services import stake_turns
from rewind.proof.store import epoch_stakes
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.recording.services.filters import filter_owner
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, write
from tests.rewind.sealed_forms import seal

NEVER = 2**64 - 1
SLOTS = 32
SYSVARS = bytes(Pubkey.from_string("Sysvar1111111111111111111111111111111111111"))
FEATURES = bytes(Pubkey.from_string("Feature111111111111111111111111111111111111"))
INTEGERS = bytes(Pubkey.from_string("s51VGwCAgebo2745DSUris72RavoLkXGUmVJosESCXr"))
ADMISSION = bytes(Pubkey.from_string("VAT9huvhPjRN9cyrPytq9rwvEJ3J4ADtjdncgZRyANJ"))
VOTES = [key(number) for number in range(500, 504)]
SIGNERS = [bytes([60 + number]) * 32 for number in range(8)]
LAMPORTS = 30_000_000


def vote_account(
    number: int, voters: Mapping[int, bytes], *, lamports: int = LAMPORTS, has_bls: bool = True
) -> AccountWrite:
    """In the fourth layout."""
    data = struct.pack("<I", 3) + bytes([number]) * 32 * 4 + struct.pack("<HHQ", 0, 0, 0)
    data += b"\x01" + bytes([number]) * 48 if has_bls else b"\0"
    data += struct.pack("<Q", 0) + b"\0" + struct.pack("<Q", len(voters))
    for epoch, voter in voters.items():
        data += struct.pack("<Q", epoch) + voter
    data = (data + struct.pack("<QQq", 0, 0, 0)).ljust(3_762, b"\0")
    return write(VOTES[number], owner=bytes(VOTE), data=data, lamports=lamports)


def stake(
    account: int, voter: int, amount: int, begins: int = NEVER, ceases: int = NEVER
) -> AccountWrite:
    data = struct.pack("<I120x32sQQQ", 2, VOTES[voter], amount, begins, ceases).ljust(200, b"\0")
    return write(account, owner=bytes(STAKE), data=data)


def history(*rows: tuple[int, int, int, int]) -> AccountWrite:
    """Of each epoch, the newest first: what was effective, activating and deactivating."""
    data = struct.pack("<Q", len(rows)) + b"".join(struct.pack("<4Q", *row) for row in rows)
    return write(bytes(STAKE_HISTORY), owner=SYSVARS, data=data.ljust(16_392, b"\0"))


def feature(pubkey: bytes) -> AccountWrite:
    return write(pubkey, owner=FEATURES, data=b"\x01" + bytes(8))


def genesis(*more: AccountWrite) -> list[AccountWrite]:
    """Two vote accounts, each with a stake since genesis; a third that is delegated in epoch 0."""
    rent = write(bytes(RENT), owner=SYSVARS, data=struct.pack("<QdB", 3_480, 2.0, 50))
    own = [vote_account(each, {0: SIGNERS[each]}) for each in range(3)]
    stakes = [stake(1, 0, 700), stake(2, 1, 300), stake(3, 2, 400, begins=0)]
    return [rent, history(), *own, *stakes, *more]


# In epoch 0 all of the third stake is activating. 25% of 1,000 may come in each epoch.
HISTORY = [(0, 1_000, 400, 0)]


@dataclass
class Chain:
    """Blocks at the ends and the beginnings of epochs."""

    record: Callable[..., Any]
    head: int = 0
    blocks: list[int] = field(default_factory=list)

    def begin(self, *writes: AccountWrite) -> None:
        epochs.keep(EpochSchedule(slots_per_epoch=SLOTS))
        self.record(block(0, 0, list(writes)))

    def block(self, slot: int, *writes: AccountWrite) -> None:
        self.record(block(slot, self.head, list(writes)))
        self.head = slot

    def end_epoch(self, *writes: AccountWrite) -> None:
        self.block(self.head // SLOTS * SLOTS + SLOTS - 1, *writes)

    def turn(self, *rows: tuple[int, int, int, int], more: tuple[AccountWrite, ...] = ()) -> None:
        """The first block of the next epoch, whose first slot is skipped."""
        self.block((self.head // SLOTS + 1) * SLOTS + 1, history(*rows), *more)


@pytest.fixture
def chain(record: Callable[..., Any]) -> Chain:
    return Chain(record)


def count() -> int:
    """All that can be counted is; how many steps that took."""
    steps = 0
    while stake_turns.count_step():
        steps += 1
    return steps


def stakes(epoch: int) -> dict[int, tuple[int, bytes | None]]:
    """Lamports and voter by the number of the vote account."""
    found = epoch_stakes.of_epoch(epoch)
    return {VOTES.index(name): (each.lamports, each.voter) for name, each in found.items()}


def lamports(epoch: int) -> dict[int, int]:
    return {number: each for number, (each, _) in stakes(epoch).items()}


def outcome(epoch: int) -> tuple[str, str]:
    turn = StakeTurn.objects.get(epoch=epoch)
    return turn.outcome, turn.reason


def test_from_genesis_on_each_epoch_has_its_stakes(chain: Chain) -> None:
    chain.begin(*genesis(feature(INTEGERS)))
    count()
    assert stakes(0) == stakes(1) == {0: (700, SIGNERS[0]), 1: (300, SIGNERS[1])}
    assert epoch_stakes.origin_of(1) == StakeOrigin(computed_slot=0)
    chain.end_epoch(vote_account(1, {0: SIGNERS[1], 2: SIGNERS[5], 3: SIGNERS[6]}))
    count()
    assert epoch_stakes.origin_of(2) is None
    chain.turn(*HISTORY)
    count()
    assert stakes(2) == {0: (700, SIGNERS[0]), 1: (300, SIGNERS[5]), 2: (250, SIGNERS[2])}
    assert epoch_stakes.origin_of(2) == StakeOrigin(computed_slot=SLOTS - 1)
    # The second ceases, the third is fully effective.
    chain.end_epoch(stake(2, 1, 300, ceases=1))
    chain.turn((1, 1_250, 150, 300), *HISTORY)
    count()
    assert stakes(3) == {0: (700, SIGNERS[0]), 2: (400, SIGNERS[2])}
    assert outcome(2) == ("computed", "")
    assert count() == 0


def test_what_is_written_after_the_turn_does_not_count(chain: Chain) -> None:
    chain.begin(*genesis())
    chain.end_epoch()
    chain.turn(*HISTORY, more=(stake(1, 0, 9_999), stake(9, 1, 5_000), vote_account(1, {})))
    count()
    assert stakes(2) == {0: (700, SIGNERS[0]), 1: (300, SIGNERS[1]), 2: (250, SIGNERS[2])}


def test_only_stakes_of_vote_accounts_count(chain: Chain) -> None:
    """Of delegations to an account that is closed, or none, the history has the lamports."""
    chain.begin(*genesis(stake(4, 3, 50)))
    count()
    assert lamports(0) == {0: 700, 1: 300}
    closed = write(VOTES[0], lamports=0, owner=bytes(32))
    gone = write(3, lamports=0, owner=bytes(32))
    blank = write(VOTES[1], owner=bytes(VOTE), data=bytes(3_762))
    other = write(VOTES[2], owner=bytes(VOTE), data=b"\x03" + bytes(3_700))
    chain.end_epoch(closed, gone, blank, other, vote_account(3, {0: SIGNERS[7]}))
    chain.turn((0, 1_050, 0, 0))
    count()
    assert stakes(2) == {3: (50, SIGNERS[7])}


def test_with_admission_a_vote_account_needs_a_key_and_its_rent(chain: Chain) -> None:
    rent = (128 + 3_762) * 6_960
    chain.begin(*genesis(feature(ADMISSION)))
    chain.end_epoch(
        vote_account(0, {0: SIGNERS[0]}, lamports=rent),
        vote_account(1, {0: SIGNERS[1]}, lamports=rent - 1),
        vote_account(2, {0: SIGNERS[2]}, has_bls=False),
    )
    chain.turn(*HISTORY)
    count()
    assert lamports(2) == {0: 700}


def test_a_chain_that_admits_no_one_has_no_admission(chain: Chain) -> None:
    """As localnet, where all features are active and vote accounts have no such key."""
    accounts = [vote_account(each, {0: SIGNERS[each]}, has_bls=False) for each in range(3)]
    chain.begin(*genesis(feature(ADMISSION)))
    chain.end_epoch(*accounts)
    chain.turn(*HISTORY)
    count()
    assert lamports(2) == {0: 700, 1: 300, 2: 250}


@pytest.mark.parametrize(
    "row", [(0, 1_001, 400, 0), (0, 1_000, 399, 0), (0, 1_000, 400, 1), (1, 1_000, 400, 0)], ids=str
)
def test_no_stakes_follow_where_the_clusters_history_is_another(
    chain: Chain, row: tuple[int, int, int, int]
) -> None:
    """A stake account is missing or altered, or another rule holds."""
    chain.begin(*genesis())
    chain.end_epoch()
    chain.turn(row)
    count()
    assert epoch_stakes.origin_of(2) is None
    told, reason = outcome(1)
    assert told == "refused"
    assert reason.startswith(("the stakes here come to (1000, 400, 0)", "the StakeHistory sysvar"))
    assert count() == 0


@pytest.mark.parametrize("program", [STAKE, VOTE])
def test_none_follow_from_filtered_accounts(chain: Chain, program: Pubkey) -> None:
    chain.begin(*genesis())
    count()
    filter_owner(program, filtered=True)
    chain.end_epoch()
    chain.turn(*HISTORY)
    count()
    assert outcome(1) == ("refused", f"a filter leaves out accounts of {program}")
    assert epoch_stakes.origin_of(2) is None


def test_without_the_filters_they_follow_from_the_next_whole_snapshot(chain: Chain) -> None:
    chain.begin(*genesis())
    filter_owner(STAKE, filtered=True)
    chain.end_epoch(stake(5, 1, 60, begins=0))
    filter_owner(STAKE, filtered=False)
    chain.turn((0, 1_000, 460, 0))
    count()
    assert outcome(1)[0] == "refused"
    accounts = [*genesis(), stake(4, 1, 11), history((0, 1_000, 460, 0))]
    record_baseline(accounts, Slot(chain.head), source="x", now=NOW, whole=True)
    chain.end_epoch()
    chain.turn((1, 1_228, 183, 0), (0, 1_000, 460, 0))
    count()
    assert lamports(3) == {0: 700, 1: 311, 2: 400}


def test_a_gap_is_waited_for(chain: Chain, record: Callable[..., Any]) -> None:
    chain.begin(*genesis())
    chain.head = 20  # which has not come
    chain.end_epoch()
    chain.turn((0, 1_000, 450, 0))
    count()
    assert epoch_stakes.origin_of(2) is None
    assert not StakeTurn.objects.filter(epoch=1).exists()
    record(block(20, 0, [stake(8, 0, 50, begins=0)]))
    count()
    # 250 lamports for 450.
    assert lamports(2) == {0: 727, 1: 300, 2: 222}


def test_from_a_whole_snapshot_on_it_goes_on(chain: Chain, record: Callable[..., Any]) -> None:
    epochs.keep(EpochSchedule(slots_per_epoch=SLOTS))
    chain.head = 100
    accounts = [*genesis(), stake(4, 1, 11), history((2, 1_000, 0, 0), (1, 1_000, 0, 0))]
    record(block(100, 99, []))
    record_baseline(accounts, Slot(100), source="x", now=NOW, whole=True)
    chain.end_epoch(stake(3, 2, 40))
    count()
    assert not StakeTurn.objects.exists()
    chain.turn((3, 1_051, 0, 0), (2, 1_000, 0, 0), (1, 1_000, 0, 0))
    count()
    assert lamports(5) == {0: 700, 1: 311, 2: 40}
    assert [(turn.epoch, turn.accounts) for turn in StakeTurn.objects.all()] == [(4, 4)]


def test_epochs_without_a_block_are_passed_over(chain: Chain) -> None:
    chain.begin(*genesis())
    chain.end_epoch()
    far = 10**9 * SLOTS + 3
    chain.block(far, history(*HISTORY))
    assert count() < 10
    # No epoch of the history is between, in which more of the third could have come.
    expected = {0: 700, 1: 300, 2: 250}
    assert lamports(10**9) == lamports(10**9 + 1) == expected
    assert list(StakeTurn.objects.values_list("epoch", flat=True)) == [10**9, 0]
    chain.end_epoch()
    chain.turn((10**9, 1_250, 150, 0), *HISTORY)
    count()
    assert outcome(10**9 + 1)[0] == "refused"


def test_a_snapshot_of_the_epochs_first_block_is_too_late(
    chain: Chain, record: Callable[..., Any]
) -> None:
    """What was before it, the gap below may have changed."""
    chain.begin(*genesis())
    chain.head = 20  # which has not come
    chain.end_epoch()
    accounts = [*genesis(), history((0, 1_000, 450, 0))]
    chain.turn((0, 1_000, 450, 0))
    record_baseline(accounts, Slot(chain.head), source="x", now=NOW, whole=True)
    count()
    assert [turn.epoch for turn in StakeTurn.objects.all()] == [0]
    record(block(20, 0, [stake(8, 0, 50, begins=0)]))
    count()
    assert lamports(2) == {0: 727, 1: 300, 2: 222}


def test_not_from_one_that_has_not_all_accounts(chain: Chain, record: Callable[..., Any]) -> None:
    epochs.keep(EpochSchedule(slots_per_epoch=SLOTS))
    chain.head = 100
    record(block(100, 99, []))
    record_baseline(genesis(), Slot(100), source="x", now=NOW)
    chain.end_epoch()
    chain.turn((3, 1_000, 400, 0))
    assert count() == 0


def test_it_takes_up_where_it_was_stopped(chain: Chain) -> None:
    """Nothing of a step is kept in the process."""
    many = [stake(10_000 + number, 2, 1) for number in range(4_100)]
    chain.begin(*genesis(*many))
    # One step begins, two are full ones, one finishes.
    assert count() == 4
    assert lamports(0) == {0: 700, 1: 300, 2: 4_100}
    assert StakeTurn.objects.get().accounts == 4_103


def test_a_nodes_word_gives_way_and_a_snapshots_stays(chain: Chain) -> None:
    chain.begin(*genesis())
    chain.end_epoch()
    chain.turn(*HISTORY)
    epoch_stakes.keep(StakeOrigin(), 0, {VOTES[0]: Stake(1, None)})
    baseline = Baseline.objects.create(slot=1, source="mine", accounts=0, recorded_at=NOW)
    false = {VOTES[0]: Stake(701, None), VOTES[1]: Stake(300, None), VOTES[2]: Stake(250, None)}
    epoch_stakes.keep(
        StakeOrigin(baseline), 1, {VOTES[0]: Stake(700, None), VOTES[1]: Stake(300, None)}
    )
    epoch_stakes.keep(StakeOrigin(baseline), 2, false)
    count()
    assert epoch_stakes.origin_of(0) == StakeOrigin(computed_slot=0)
    assert epoch_stakes.origin_of(1) == StakeOrigin(baseline, 0)
    assert stakes(1)[1] == (300, SIGNERS[1])
    assert epoch_stakes.of_epoch(2) == false
    assert outcome(1)[0] == "differs"
    assert stake_turns.difference() == (
        "the stakes of epoch 2 that follow from the archive's accounts at the end of slot 31 are"
        " not those of mine: one of the two is false"
    )


def test_sealed_accounts_count(committed: None) -> None:
    from rewind.recording.services.recording import record_slots

    chain = Chain(lambda *records: record_slots(list(records), source="x", now=NOW))
    chain.begin(*genesis())
    chain.end_epoch()
    chain.turn(*HISTORY)
    seal()
    count()
    assert lamports(2) == {0: 700, 1: 300, 2: 250}
