"""Stakes from the archive's own accounts.

At an epoch's turn the cluster counts all stake accounts, as the last block of the epoch that
ended left them: what each vote account's votes weigh in the epoch after the one that begins, and
who may sign them (`update_epoch_stakes` in Agave's `runtime/src/bank.rs`). The same count is made
here, some accounts in each call of `count_step`, which may be the last: all that it found is in one
transaction.

The cluster writes into the StakeHistory sysvar what all stakes come to in the epoch that ended. The
count has to come to the same, or no stakes follow from it: an account is missing or altered, or the
cluster has rules that are not known here.
"""

import logging
from dataclasses import dataclass

from django.db import transaction
from solders.pubkey import Pubkey
from solders.sysvar import RENT, STAKE_HISTORY

from chain import addresses
from chain.epoch_stakes import (
    VOTE_SIZE,
    Admission,
    VoteAccount,
    counted,
    read_vote_account,
    rent_exempt_by,
)
from chain.epochs import EpochSchedule
from chain.stake_activation import (
    Activation,
    Rules,
    read_delegation,
    read_history,
)
from columns.queries import lift_timeouts
from rewind.accounts.services.owned_between import owned_between
from rewind.accounts.store import absence
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import State, newest_states
from rewind.baselines.models import StakeTurn
from rewind.coverage.services import epochs
from rewind.errors import SlotTooOld
from rewind.positions import Position
from rewind.proof.stake_sums import StakeSums
from rewind.proof.store import epoch_stakes, stake_turns
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.proof.store.stake_turns import Outcome
from rewind.recording.store import slots

log = logging.getLogger(__name__)

STAKE, VOTE = bytes(addresses.STAKE), bytes(addresses.VOTE)
# Stake accounts of one step; vote accounts that are read at once.
_AT_ONCE = 2_000
_VOTERS_AT_ONCE = 200
_MOST_AT_GENESIS = 10_000_000

_LOWER_RATE = bytes(Pubkey.from_string("GwtDQBghCTBgmX2cpEGNPxTEBUTQRaDMGTr5qychdGMj"))
_INTEGERS = bytes(Pubkey.from_string("s51VGwCAgebo2745DSUris72RavoLkXGUmVJosESCXr"))
_ADMISSION = bytes(Pubkey.from_string("VAT9huvhPjRN9cyrPytq9rwvEJ3J4ADtjdncgZRyANJ"))
_ALPENGLOW = bytes(Pubkey.from_string("A1pengvuM6JEcyNuTnMqepBKhwHE3N6PmUrdATGawhJS"))
_REVENUE_SHARING = bytes(Pubkey.from_string("Crbnc267wkJvFhYakqwWWX57sx5bkrftJLekzy6yWKLT"))
_FEATURES = (_LOWER_RATE, _INTEGERS, _ADMISSION, _ALPENGLOW, _REVENUE_SHARING)
_RENT, _HISTORY = bytes(RENT), bytes(STAKE_HISTORY)


class _NotCountable(Exception):
    """Why no stakes follow from the archive's accounts."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """What holds from the epoch's first block on."""

    activation: Rules
    history: dict[int, Activation]
    admission: Admission | None
    ended: int | None  # the epoch of the block before; None at genesis


def count_step() -> bool:
    """Counts some stake accounts of an epoch's turn; whether there was something to do. It may be
    stopped anywhere and run twice at once. Raises ArchiveDamaged and ArchiveStoreUnavailable.
    """
    if not stake_turns.is_running():
        with transaction.atomic():
            return _begin_next()
    with transaction.atomic():
        turn = stake_turns.claim()
        if turn is None:
            return False
        lift_timeouts()
        try:
            _count(turn)
        except (_NotCountable, SlotTooOld) as fault:
            log.warning("no stakes follow from the turn of epoch %d: %s", turn.epoch, fault)
            stake_turns.end(turn, Outcome.REFUSED, str(fault))
    return True


def is_due() -> bool:
    """Whether a count is under way, or the turn of an epoch was not counted."""
    bounds, known = slots.bounds(), epochs.epochs()
    if stake_turns.is_running():
        return True
    return bounds is not None and known.is_known and bool(_pending(bounds, known.schedule))


def difference() -> str:
    """How the stakes that follow from a recent count differ from a snapshot's; empty: not."""
    turn = stake_turns.newest_difference()
    return "" if turn is None else turn.reason


# --- which turn is next -----------------------------------------------------------------------


def _begin_next() -> bool:
    bounds, known = slots.bounds(), epochs.epochs()
    if bounds is None or not known.is_known:
        return False
    return any(_begin(epoch, known.schedule) for epoch in _pending(bounds, known.schedule))


def _pending(bounds: tuple[int, int], schedule: EpochSchedule) -> list[int]:
    """The lowest epoch that was not counted since genesis, and since the newest whole snapshot."""
    newest = schedule.epoch_of(bounds[1])
    whole_at = absence.wholeness(Position.end_of(bounds[1])).known_at
    firsts = [] if whole_at is None else [schedule.epoch_of(whole_at) + 1]
    if bounds[0] == 0 and absence.wholeness(Position.end_of(0)).from_genesis:
        firsts.append(0)
    if not firsts:
        return []
    done = stake_turns.epochs_from(min(firsts))
    lowest = (_lowest(first, newest, done, schedule) for first in firsts)
    return sorted({epoch for epoch in lowest if epoch is not None})


def _lowest(first: int, newest: int, done: set[int], schedule: EpochSchedule) -> int | None:
    """The lowest epoch with a block that is not among those."""
    while first <= newest:
        if first in done:
            first += 1
            continue
        begins, ends = schedule.slots_of(first)
        block, _ = slots.links_between(begins, begins)[0]
        if block <= ends:
            return first
        first = schedule.epoch_of(block)
    return None


def _begin(epoch: int, schedule: EpochSchedule) -> bool:
    """Whether the epoch's turn can be counted, or never will."""
    first, _ = schedule.slots_of(epoch)
    block, parent = slots.links_between(first, first)[0]
    if not _are_whole(parent if epoch else 0, block):
        return False
    if not epoch:
        genesis = owned_between([STAKE], 0, 0, most=_MOST_AT_GENESIS)
        if 0 not in genesis.listed:
            stake_turns.begin(0, 0, 0, "the accounts of genesis are not listed by their owners")
            return True
        stake_turns.keep_accounts([each.pubkey for each in genesis.slots.get(0, ())])
    stake_turns.begin(epoch, parent if epoch else 0, block)
    return True


def _are_whole(*ends: int) -> bool:
    """Whether each account that lived at the ends of these slots is here as it was."""
    found = [absence.wholeness(Position.end_of(slot)) for slot in ends]
    return all(whole.from_genesis or whole.of_the_living for whole in found)


# --- the count --------------------------------------------------------------------------------


def _count(turn: StakeTurn) -> None:
    rules = _rules_of(turn)
    pubkeys = stake_turns.accounts_after(bytes(turn.after), _AT_ONCE)
    sums = StakeSums.unpacked(bytes(turn.sums))
    count = 0
    for state in _states(pubkeys, turn.state_slot, STAKE).values():
        delegation = read_delegation(state.data)
        count += 1
        if delegation is not None:
            epochs_here = rules.ended, turn.epoch
            sums.add(delegation, epochs_here, rules.history, rules.activation)
    after = pubkeys[-1] if pubkeys else bytes(turn.after)
    stake_turns.advance(turn, after=after, sums=sums.packed(), accounts=count)
    if len(pubkeys) < _AT_ONCE:
        _finish(turn, sums, rules)


def _states(pubkeys: list[bytes], slot: int, owner: bytes) -> dict[bytes, State]:
    """Those of the accounts that were the owner's at the end of the slot."""
    states = newest_states(pubkeys, Position.end_of(slot), look_up_slot(slot).layout)
    missing = [pubkey for pubkey in pubkeys if pubkey not in states]
    found = {key: each for key, each in states.items() if each.owner == owner and each.lamports}
    if any(each.is_stale_at(slot) for each in found.values()) or (
        missing and absence.filtered_among(missing, slot)
    ):
        raise _NotCountable(f"a filter leaves out accounts of {Pubkey(owner)}")
    return found


def _rules_of(turn: StakeTurn) -> _Rules:
    slot = turn.first_slot
    keys = [_HISTORY, _RENT, *_FEATURES]
    states = newest_states(keys, Position.end_of(slot), look_up_slot(slot).layout)
    schedule = epochs.epochs().schedule
    ended = schedule.epoch_of(turn.state_slot) if turn.epoch else None
    active = {key: _activated_at(states.get(key)) for key in _FEATURES}
    if active[_ALPENGLOW] is not None:
        raise _NotCountable("its votes are certificates")
    history = {} if ended is None else _history_of(turn, ended, states.get(_HISTORY))
    since = active[_LOWER_RATE]
    lower_from = None if since is None else schedule.epoch_of(since)
    admission = None
    if active[_ADMISSION] is not None:
        if _RENT not in states:
            raise _NotCountable("the Rent sysvar is not here")
        balance = rent_exempt_by(states[_RENT].data, VOTE_SIZE)
        admission = Admission(balance, without_pending=active[_REVENUE_SHARING] is not None)
    rules = Rules(lower_from, active[_INTEGERS] is not None)
    return _Rules(rules, history, admission, ended)


def _history_of(turn: StakeTurn, ended: int, state: State | None) -> dict[int, Activation]:
    if state is None or state.is_stale_at(turn.first_slot):
        raise _NotCountable("the StakeHistory sysvar is not here")
    try:
        history = read_history(state.data)
    except ValueError as fault:
        raise _NotCountable(str(fault)) from None
    if ended not in history:
        raise _NotCountable(f"the StakeHistory sysvar does not have epoch {ended}")
    return history


def _activated_at(state: State | None) -> int | None:
    """The slot since which a feature is on."""
    if state is None or state.owner != bytes(addresses.FEATURE) or not state.lamports:
        return None
    data = state.data
    return int.from_bytes(data[1:9], "little") if len(data) >= 9 and data[0] == 1 else None


# --- its end ----------------------------------------------------------------------------------


def _finish(turn: StakeTurn, sums: StakeSums, rules: _Rules) -> None:
    if not _are_whole(turn.state_slot, turn.first_slot):
        raise _NotCountable("slots were lost meanwhile")
    if rules.ended is not None and sums.ended != rules.history[rules.ended]:
        raise _NotCountable(
            f"the stakes here come to {tuple(sums.ended)} lamports (effective, activating,"
            f" deactivating) in epoch {rules.ended}, and the cluster's StakeHistory has"
            f" {tuple(rules.history[rules.ended])}"
        )
    accounts = _vote_accounts(sorted(sums.delegated), turn.state_slot)
    weights = counted(sums.delegated, accounts, rules.admission)
    if not weights:
        raise _NotCountable("no vote account has any stake")
    differences = []
    # At genesis, and above epochs without a block, the epoch that begins has no stakes yet.
    follows = rules.ended is not None and turn.epoch == rules.ended + 1
    for epoch in (turn.epoch + 1,) if follows else (turn.epoch, turn.epoch + 1):
        stakes = {key: Stake(each, accounts[key].voter_in(epoch)) for key, each in weights.items()}
        if not _keep(turn, epoch, stakes):
            differences.append(epoch)
    if differences:
        origin = epoch_stakes.origin_of(differences[0])
        stake_turns.end(
            turn,
            Outcome.DIFFERS,
            f"the stakes of epoch {differences[0]} that follow from the archive's accounts at the"
            f" end of slot {turn.state_slot} are not those of {origin}: one of the two is false",
        )
        return
    stake_turns.end(turn, Outcome.COMPUTED)
    log.info(
        "the stakes of epoch %d follow from %d stake accounts at the end of slot %d: %d vote"
        " accounts, %d lamports",
        turn.epoch + 1,
        turn.accounts,
        turn.state_slot,
        len(weights),
        sum(weights.values()),
    )


def _vote_accounts(pubkeys: list[bytes], slot: int) -> dict[bytes, VoteAccount]:
    found: dict[bytes, VoteAccount] = {}
    for at in range(0, len(pubkeys), _VOTERS_AT_ONCE):
        for key, state in _states(pubkeys[at : at + _VOTERS_AT_ONCE], slot, VOTE).items():
            account = read_vote_account(state.lamports, state.data)
            if account is not None:
                found[key] = account
    return found


def _keep(turn: StakeTurn, epoch: int, stakes: dict[bytes, Stake]) -> bool:
    """Whether they are the epoch's stakes now; those that a snapshot brought stay."""
    origin = epoch_stakes.origin_of(epoch)
    baseline = None if origin is None else origin.baseline
    if baseline is not None and not epoch_stakes.agree(epoch_stakes.of_epoch(epoch), stakes):
        return False
    epoch_stakes.keep(StakeOrigin(baseline, turn.state_slot), epoch, stakes)
    return True
