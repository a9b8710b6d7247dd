"""Lattice hashes of accounts as the head of a chain of banks has them: the process's own memory,
behind it the archive, and of filtered accounts what the proof keeps.
"""

from collections.abc import Collection, Iterable, Sequence

from chain.lattice import LATTICE_BYTES, lattice_of
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import State, newest_states
from rewind.positions import CARRIED, Position
from rewind.proof.accounts import KeptState
from rewind.proof.services.voters import VoteState
from rewind.proof.store import slot_proofs

_NOTHING = bytes(LATTICE_BYTES)
# With its key and place in the dictionary.
_ENTRY_BYTES = LATTICE_BYTES + 160
# Accounts that are read at once.
_AT_ONCE = 2_000


class NearAccounts:
    """Of one chain of banks, whose accounts before `floor` do not count: what is older is of no
    account that lived when it began. At most `cache_bytes`, beside the states of filtered accounts
    that are not proven yet.
    """

    def __init__(self, start_slot: int, floor: int, cache_bytes: int) -> None:
        self._start, self._floor = start_slot, floor
        self._most = max(1, cache_bytes // _ENTRY_BYTES)
        self._hashes: dict[bytes, bytes] = {}
        self._filtered: dict[bytes, slot_proofs.Kept] = {}

    def __len__(self) -> int:
        """Accounts whose hash is in memory."""
        return len(self._hashes)

    def before(self, slot: int, pubkeys: Collection[bytes]) -> dict[bytes, bytes]:
        """As the slots below left them."""
        found = {pubkey: self._hashes[pubkey] for pubkey in pubkeys if pubkey in self._hashes}
        missing = [pubkey for pubkey in pubkeys if pubkey not in found]
        for at in range(0, len(missing), _AT_ONCE):
            some = missing[at : at + _AT_ONCE]
            archived = self._archived(some, Position(slot, CARRIED))
            kept = slot_proofs.kept_states(self._start, some)
            kept |= {key: self._filtered[key] for key in some if key in self._filtered}
            for pubkey in some:
                state, other = archived.get(pubkey), kept.get(pubkey)
                if other is not None and (state is None or state.slot <= other.slot):
                    found[pubkey] = lattice_of(other.state)
                else:
                    found[pubkey] = _NOTHING if state is None else lattice_of(state)
        return found

    def after(self, slot: int, pubkeys: Collection[bytes]) -> dict[bytes, bytes]:
        """As the archive has them at the slot's end."""
        found: dict[bytes, bytes] = {}
        keys = list(pubkeys)
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            archived = self._archived(some, Position.end_of(slot))
            for pubkey in some:
                state = archived.get(pubkey)
                found[pubkey] = _NOTHING if state is None else lattice_of(state)
        return found

    def vote_states(self, slot: int, pubkeys: Sequence[bytes]) -> dict[bytes, VoteState]:
        """Vote accounts as the slot of the chain left them; of filtered ones that were written
        since, as an older slot did.
        """
        archived = self._archived(list(pubkeys), Position.end_of(slot))
        kept = slot_proofs.kept_states(self._start, pubkeys)
        newer = {key: self._filtered[key] for key in pubkeys if key in self._filtered}
        found: dict[bytes, VoteState] = {}
        for key in pubkeys:
            later = [each for each in (kept.get(key), newer.get(key)) if each is not None]
            of_then = [each for each in later if each.slot <= slot]
            state, other = archived.get(key), of_then[-1] if of_then else None
            if other is not None and (state is None or state.slot <= other.slot):
                found[key] = VoteState(other.state.data, slot)
            elif state is not None:
                is_current = other is not None or not later
                found[key] = VoteState(state.data, slot if is_current else state.slot)
        return found

    def follow(self, slot: int, hashes: dict[bytes, bytes], filtered: Iterable[KeptState]) -> None:
        """What the slot left is what stands now."""
        for pubkey, value in hashes.items():
            self._hashes.pop(pubkey, None)
            self._hashes[pubkey] = value
        while len(self._hashes) > self._most:
            del self._hashes[next(iter(self._hashes))]
        self.keep(slot, filtered)

    def keep(self, slot: int, filtered: Iterable[KeptState]) -> None:
        """Filtered accounts as the slot left them, until `settle`."""
        for state in filtered:
            self._filtered[state.pubkey] = slot_proofs.Kept(slot, state)

    def settle(self, through: int) -> None:
        """Filtered accounts as slots up to this one left them are in the table now."""
        for pubkey in [key for key, kept in self._filtered.items() if kept.slot <= through]:
            del self._filtered[pubkey]

    def _archived(self, pubkeys: list[bytes], position: Position) -> dict[bytes, State]:
        layout = look_up_slot(position.slot).layout
        found = newest_states(pubkeys, position, layout)
        return {key: state for key, state in found.items() if state.slot >= self._floor}
