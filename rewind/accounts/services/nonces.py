"""What the archive knows of nonce accounts: their newest finalized states, and past hashes."""

from collections.abc import Collection, Mapping
from itertools import islice
from typing import NamedTuple

from solders.signature import Signature

from chain.nonces import read_nonce, why_unusable
from historical.transactions.services import recorded_transactions
from rewind.accounts.services import absence, position_lookup
from rewind.accounts.store import walking
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.positions import CARRIED, END_OF_SLOT, Asked, Position
from rewind.recording.store.slots import bounds

# How many writes back a state is looked for.
_MOST_WRITES = 64


class KnownAccount(NamedTuple):
    """An account at the end of the newest slot, and where it was written last, None where that is
    not known. One that does not exist has 0 lamports.
    """

    lamports: int
    owner: bytes
    data: bytes
    written: Position | None


class Left(NamedTuple):
    """That a nonce account had a state and left it. `place` is the write with which its present
    one began, None where the archive did not see every slot between that and the write before.
    """

    place: Position | None


def newest_known(pubkeys: Collection[bytes]) -> tuple[int, Mapping[bytes, KnownAccount]]:
    """The newest archived slot, and those of the accounts whose state at its end is known for
    sure: the archive follows them, and has seen every slot since. Slot -1 while the archive is
    empty. Raises what `resolve_position` does.
    """
    ends = bounds()
    if ends is None or not pubkeys:
        return -1 if ends is None else ends[1], {}
    resolved = position_lookup.resolve_position(Asked(slot=ends[1]), tolerate_gaps=True)
    states = newest_states(list(pubkeys), resolved.position, resolved.layout)
    stale = absence.stale_among(pubkeys, states, resolved)
    places = {key: Position(state.slot, state.position) for key, state in states.items()}
    found = {
        key: KnownAccount(state.lamports, state.owner, state.data, places[key])
        for key, state in states.items()
        if state.lamports and key not in stale
    }
    for key in absence.known_absent(pubkeys, states, resolved):
        found[key] = KnownAccount(0, b"", b"", places.get(key))
    known = {key: each for key, each in found.items() if not resolved.unseen_since(each.written)}
    return resolved.slot, known


def left_at(
    pubkey: bytes, durable: bytes, *, up_to_slot: int, signers: bytes | None = None
) -> Left | None:
    """Whether the nonce account left this hash, or, with `signers`, an authority among them; None
    if none of its newest archived writes up to the slot's end had it, or the last one still has.
    The place is where the kind of state began (chain.nonces.why_unusable) that it has at the end.
    """
    ends = bounds()
    if ends is None:
        return None
    slot = min(up_to_slot, ends[1])
    layout = look_up_slot(slot).layout
    pages = walking.rows_below(pubkey, Position(slot + 1, CARRIED), 0, layout, at_once=_MOST_WRITES)
    since: Position | None = None
    before: Position | None = None
    last = ""
    for row in islice((row for page in pages for row in page), _MOST_WRITES):
        at = Position(row.slot, row.position)
        data = walking.data_of(pubkey, row) if row.lamports else b""
        nonce = read_nonce(row.owner, data)
        if nonce is not None and nonce.durable == durable and nonce.is_signed_by(signers):
            return None if since is None else Left(_seen_from(before or at, since))
        word, _ = why_unusable(
            durable, signers or b"", lamports=row.lamports, owner=row.owner, data=data
        )
        last = last or word
        if before is None and word == last:
            since = at
        else:
            before = before or at
    return None


def _seen_from(had: Position, after: Position) -> Position | None:
    """The later of two writes, if the archive saw every slot between them."""
    resolved = position_lookup.resolve_position(Asked(slot=after.slot), tolerate_gaps=True)
    return None if resolved.unseen_since(had) else after


def writers(places: Collection[Position]) -> Mapping[Position, Signature]:
    """The transactions that wrote there, of those that the ledger has."""
    asked = [(slot, order) for slot, order in places if 0 <= order < END_OF_SLOT]
    found = recorded_transactions.signatures_at(asked)
    return {Position(*place): signature for place, signature in found.items()}
