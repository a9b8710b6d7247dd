"""Who may sign a vote account's votes: its authorized voter in an epoch, from the account's state.

In an epoch the voter is set for the epoch after the next one (Agave's vote_state.authorize, by the
clock's leader schedule epoch). So a state names the voter of its own epoch and of the next one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from chain.epochs import EpochSchedule
from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.vote import authorized_voters
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.coverage.services import epochs
from rewind.positions import Position
from rewind.proof.store import slot_proofs

# Accounts that are read together: 4 kB each.
_AT_ONCE = 500


class VoteState(NamedTuple):
    """A vote account's data, and the slot up to which no later write is known to be missing."""

    data: bytes
    known_at: int


# Vote accounts' states at the end of a slot, by pubkey.
ReadStates: TypeAlias = Callable[[int, Sequence[bytes]], Mapping[bytes, VoteState]]


def voters_at(slot: int, vote_accounts: Collection[bytes], epoch: int) -> dict[bytes, bytes]:
    """The epoch's voters by vote account, from the states at the end of the slot that the archive
    has, or that the proof keeps of filtered accounts.
    """
    voters = Voters(_archived, epochs.epochs().schedule)
    return dict(voters.of(epoch, vote_accounts, at=slot))


@dataclass(slots=True)
class Voters:
    """The same in memory. What a state says of an epoch's voter holds for all of the epoch."""

    read: ReadStates
    schedule: EpochSchedule
    _known: dict[tuple[int, bytes], bytes] = field(default_factory=dict)
    # The slot whose state last did not say it.
    _missed: dict[tuple[int, bytes], int] = field(default_factory=dict)

    def of(self, epoch: int, accounts: Iterable[bytes], *, at: int) -> Mapping[bytes, bytes]:
        """Those that are known, by states at the end of the slot `at`, or below it before."""
        accounts = list(accounts)
        wanted = [
            account
            for account in accounts
            if (epoch, account) not in self._known and self._missed.get((epoch, account)) != at
        ]
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            states = self.read(at, some)
            for account in some:
                voter = self._voter(states.get(account), epoch)
                if voter is None:
                    self._missed[epoch, account] = at
                else:
                    self._known[epoch, account] = voter
        known = self._known
        return {key: known[epoch, key] for key in accounts if (epoch, key) in known}

    def _voter(self, state: VoteState | None, epoch: int) -> bytes | None:
        if state is None or epoch > self.schedule.epoch_of(state.known_at) + 1:
            return None
        try:
            by_epoch = authorized_voters(state.data)
        except UnreadableError:
            return None
        begun = [each for each in by_epoch if each <= epoch]
        return by_epoch[max(begun)] if begun else None

    def forget_before(self, epoch: int) -> None:
        """Of epochs below this one no voter is needed any more."""
        for memory in (self._known, self._missed):
            for key in [key for key in memory if key[0] < epoch]:
                del memory[key]


def _archived(slot: int, accounts: Sequence[bytes]) -> dict[bytes, VoteState]:
    placed = slot_proofs.bank(slot)
    kept = {} if placed is None else slot_proofs.kept_states(placed.start_slot, accounts)
    found = {key: VoteState(each.state.data, each.slot) for key, each in kept.items()}
    states = newest_states(accounts, Position.end_of(slot), look_up_slot(slot).layout)
    for key, state in states.items():
        is_stale = state.is_stale_at(slot)
        if not is_stale or key not in found:
            found[key] = VoteState(state.data, state.slot if is_stale else slot)
    return found
