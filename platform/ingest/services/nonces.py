"""Settles submissions on durable nonces, whose transactions no block height ends: by what moves
their nonce accounts in finalized blocks, and by the accounts' finalized states.

A hash never comes back, so a finalized state with another one ends a transaction. It may also be
older than the transaction's hash, which the sender read from a block that is not final yet. So a
state counts if the archive saw the account leave that hash; else only from some slots behind the
acceptance, and if its block was made after it: then the block that could have brought the hash is
below it, on whatever fork the sender was, and however far our stream had fallen behind.

A transaction whose first instruction advances a nonce may still stand on a recent blockhash, among
which the chain looks first: it ends as any other one does.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from solders.pubkey import Pubkey

from chain.blocks import SlotRecord
from chain.nonces import NONCE_AUTHORITY, why_unusable
from historical.blocks.store import blocks as ledger
from historical.transactions.outcomes import packed_err
from historical.transactions.store import transactions as ledger_transactions
from ingest.coverage import Coverage
from ingest.services import nonce_states
from ingest.services.found_rows import found_in_ledger
from ingest.services.nonce_states import Account, Move
from priority.chain_events import BLOCKHASH_BLOCKS
from priority.fates.services import settling
from priority.fates.store import settling as store
from priority.fates.store.settling import FoundRow, WatchedRow
from rewind.accounts.services.nonces import Left
from rewind.positions import Position
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# How far the sender's node may have been ahead of the slot at acceptance.
SLOTS_AHEAD = 4
# A nonce that can still be used is looked at again after so long: that finds what was missed.
_AGAIN, _SOON = timedelta(minutes=10), timedelta(seconds=2)
_MOST_CHECKED, _STATUSES_AT_ONCE = 500, 256
# From so many slots before its acceptance on it is looked for in the ledger, in so many at most.
_SLOTS_BEFORE, _MOST_SLOTS = 1_000, 20_000
# After this a gap of the ledger is not waited for any more, and the node is asked.
_PATIENCE = timedelta(minutes=5)
_ORDINARY = "blockhash_expired: it stands on an ordinary blockhash, which its nonce never held"


class _Gone(NamedTuple):
    """A submission whose nonce cannot take it at the end of a slot, and why: it landed before that,
    or never can. `is_used`: another transaction stood on its hash. `is_held`: the archive saw the
    nonce have it before.
    """

    row: WatchedRow
    slot: int
    word: str
    why: str
    is_used: bool = False
    is_held: bool = False


class Watch(NamedTuple):
    """The watched submissions whose nonces a run of blocks touches, and what moves each nonce, in
    order; `last` is the run's last slot.
    """

    rows: list[WatchedRow]
    moves: Mapping[bytes, list[Move]]
    last: int


NOTHING = Watch([], {}, -1)


def watch(records: Sequence[SlotRecord]) -> Watch:
    """What the blocks, in ascending order, do to watched nonces: one look-up by account."""
    if not records:
        return NOTHING
    every: set[bytes] | None = None
    touched: dict[int, set[bytes]] = {}
    for record in records:
        if record.account_writes is not None:
            touched[record.slot] = nonce_states.written(record)
            continue
        every = store.watched_nonces() if every is None else every
        touched[record.slot] = nonce_states.named(record, every)
    rows = store.on_nonces(set().union(*touched.values()))
    moves: dict[bytes, list[Move]] = {row.nonce: [] for row in rows if row.nonce is not None}
    for record in records:
        for move in nonce_states.moves(record, touched[record.slot] & moves.keys()):
            moves[move.nonce].append(move)
    return Watch(rows, moves, records[-1].slot)


def settle_moved(watched: Watch, found: Collection[bytes], *, now: datetime) -> None:
    """Settles those whose nonces moved; `found` are the signatures that are in the blocks."""
    left = [row for row in watched.rows if row.signature not in found]
    gone = [each for row in left if (each := _gone_by(row, watched.moves[row.nonce or b""]))]
    bounds = ledger.bounds()
    if bounds is not None and bounds[1] > watched.last:
        # Later blocks may have given the authority back: check_due reads the newest state.
        gone = [each for each in gone if each.word != NONCE_AUTHORITY]
    lost = _without_landing(_counting(_over(gone)))
    _settle_lost(lost, now)
    ids = {each.row.id for each in lost}
    store.check_again([row.id for row in left if row.id not in ids], now)


def check_due(*, node: Node | None, accepted_before: datetime, now: datetime) -> None:
    """Looks at nonces that are due: of new submissions, of those whose nonces were touched, and of
    old ones now and then.
    """
    rows = store.nonces_to_check(accepted_before=accepted_before, now=now, most=_MOST_CHECKED)
    if not rows:
        return
    # In this order, so that what lands in between is found.
    states = nonce_states.states({row.nonce for row in rows if row.nonce is not None}, node)
    there, found = found_in_ledger([row.signature for row in rows])
    settling.settle_found(found, now=now)
    gone, unsure = [], []
    for row in rows:
        state = None if row.nonce is None else states.get(row.nonce)
        if state is None:
            # Of one of an older version the nonce is not known: only its block settles it.
            unsure += [] if row.nonce is None else [row.id]
        elif row.signature not in there and (each := _gone_in(row, state)):
            gone.append(each)
    counting = _counting(_over(gone))
    lost = _without_landing(counting)
    rest = _without(counting, lost)
    if rest and node is not None:
        lost += _unknown_to(node, [each for each in rest if _is_patience_over(each, now)], now)
    _settle_lost(lost, now)
    unsure += [each.row.id for each in _without(gone, lost)]
    store.check_again(sorted({row.id for row in rows}.difference(unsure)), now + _AGAIN)
    store.check_again(unsure, now + _SOON)


def _gone_by(row: WatchedRow, moves: Iterable[Move]) -> _Gone | None:
    """By the last of the moves; the reason names the first one of its kind if the archive knows
    that it was: a block before these may have been stored by a worker that was killed then.
    """
    gone: _Gone | None = None
    for move in moves:
        if move.used == row.blockhash:
            since = nonce_states.since(move.slot, move.signature)
            return _Gone(row, move.slot, "nonce_moved", f"has another hash{since}", is_used=True)
        if move.state is None:
            continue
        word, why = _why_unusable(row, move.state)
        if gone is not None and gone.word == word:
            gone = gone._replace(slot=move.slot)
        elif word:
            left = _left_at(row, word, move.slot)
            since = _since(None if left is None else left.place, move.slot)
            gone = _Gone(row, move.slot, word, f"{why}{since}", is_held=left is not None)
        else:
            gone = None
    return gone


def _gone_in(row: WatchedRow, state: Account) -> _Gone | None:
    """By a state at the end of a slot; the reason names what the archive saw."""
    word, why = _why_unusable(row, state)
    if not word:
        return None
    left = _left_at(row, word, state.slot)
    written = state.written if word in ("nonce_closed", NONCE_AUTHORITY) else None
    since = _since(written if left is None else left.place, state.slot)
    return _Gone(row, state.slot, word, f"{why}{since}", is_held=left is not None)


def _since(place: Position | None, slot: int) -> str:
    """For a reason: since which write, or, where that is not known, in which slot it was seen."""
    if place is None:
        return f" at slot {slot}"
    return nonce_states.since(place.slot, nonce_states.writers([place]).get(place))


def _left_at(row: WatchedRow, word: str, slot: int) -> Left | None:
    assert row.nonce is not None
    signers = row.nonce_signers if word == NONCE_AUTHORITY else None
    return nonce_states.left_at(row.nonce, row.blockhash, up_to_slot=slot, signers=signers)


def _over(gone: Collection[_Gone]) -> list[_Gone]:
    """Without those on ordinary blockhashes that still count."""
    bounds = ledger.bounds()
    blocks = ledger.blocks_of_hashes([each.row.blockhash for each in gone])
    newest = None if bounds is None or not blocks else ledger.block(bounds[1])
    if newest is None:
        return list(gone)
    over = []
    for each in gone:
        if each.row.blockhash not in blocks:
            over.append(each)
            continue
        slot, height = blocks[each.row.blockhash]
        if height is None or newest.block_height is None:
            is_past = newest.slot > slot + _SLOTS_BEFORE
        else:
            is_past = newest.block_height > height + BLOCKHASH_BLOCKS
        if is_past:
            over.append(_Gone(each.row, newest.slot, "blockhash_expired", ""))
    return over


def _counting(gone: Iterable[_Gone]) -> list[_Gone]:
    """Those whose states are newer than any that their senders can have seen, or that are known to
    have had their hashes.
    """
    times: dict[int, int | None] = {}
    counting = []
    for each in gone:
        if each.is_used:
            counting.append(each)  # whenever that was
            continue
        if each.slot not in times:
            times[each.slot] = ledger.time_at(each.slot)
        if _is_newer(each, times[each.slot]) or (
            # An authority may have been given since.
            each.word != NONCE_AUTHORITY
            and (each.is_held or _left_at(each.row, each.word, each.slot) is not None)
        ):
            counting.append(each)
    return counting


def _is_newer(gone: _Gone, made_at: int | None) -> bool:
    """Whether a state of a block of that time is newer than any that the sender can have seen."""
    slot = gone.row.accepted_slot
    if slot is not None and gone.slot < slot + SLOTS_AHEAD:
        return False
    if made_at is None:
        return slot is not None
    return made_at > gone.row.accepted_at.timestamp()


def _without_landing(gone: Collection[_Gone]) -> list[_Gone]:
    """Those that the ledger proves not to have moved their nonces themselves."""
    bounds = ledger.bounds()
    if not gone or bounds is None:
        return []
    firsts = {each.row.id: _first(each, bounds[0]) for each in gone}
    known = [first for first in firsts.values() if first is not None]
    lowest = max(min(known, default=bounds[1]), bounds[1] - _MOST_SLOTS, 0)
    coverage = Coverage(ledger.heights_between(lowest, bounds[1]))
    places = ledger_transactions.places([each.row.signature for each in gone])
    return [
        each
        for each in gone
        if each.row.signature not in places
        and (first := firsts[each.row.id]) is not None
        and first >= lowest
        # An authority must not have been given back since.
        and coverage.is_whole(first, bounds[1] if each.word == NONCE_AUTHORITY else each.slot)
    ]


def _first(gone: _Gone, lowest: int = 0) -> int | None:
    """From where it may have landed: its sender may have sent it elsewhere too. The genesis holds
    no transaction. Of a used hash only the block that may have it as its own blockhash is wanted,
    which the ledger need not have if it began later.
    """
    slot = gone.row.accepted_slot
    if gone.is_used:
        return max((gone.slot if slot is None else slot) - _SLOTS_BEFORE, lowest, 1)
    return None if slot is None else max(slot - _SLOTS_BEFORE, 1)


def _is_patience_over(gone: _Gone, now: datetime) -> bool:
    return gone.row.accepted_at < now - _PATIENCE


def _is_no_blockhash(gone: _Gone) -> bool:
    """Whether its hash is the nonce's, or too old if it is a blockhash that the ledger misses."""
    is_nonces = gone.is_held or gone.word == NONCE_AUTHORITY
    slot = gone.row.accepted_slot
    return is_nonces or (slot is not None and gone.slot >= slot + _SLOTS_BEFORE)


def _unknown_to(node: Node, gone: Sequence[_Gone], now: datetime) -> list[_Gone]:
    """Those that the node, with all blocks since before they were accepted, does not have in one;
    what it has finalized is settled.
    """
    lost: list[_Gone] = []
    found = []
    try:
        oldest = node.first_available_block() if gone else 0
        asked = [
            each
            for each in gone
            if (first := _first(each)) is not None and first >= oldest and _is_no_blockhash(each)
        ]
        for at in range(0, len(asked), _STATUSES_AT_ONCE):
            some = asked[at : at + _STATUSES_AT_ONCE]
            slot, statuses = node.signature_statuses([each.row.signature for each in some])
            for each, status in zip(some, statuses, strict=True):
                if status is None:
                    # By a node as new as the state.
                    lost += [each] if slot >= each.slot else []
                elif status.is_finalized:
                    err = packed_err(status.err)
                    found.append(FoundRow(each.row.signature, status.slot, None, err))
    except NodeError as error:
        log.info("%s cannot report fates: %s", node.name, error)
    settling.settle_found(found, now=now)
    return lost


def _settle_lost(lost: Iterable[_Gone], now: datetime) -> None:
    settling.settle_lost({each.row.id: _reason(each) for each in lost}, now=now)


def _without(some: Iterable[_Gone], others: Iterable[_Gone]) -> list[_Gone]:
    ids = {each.row.id for each in others}
    return [each for each in some if each.row.id not in ids]


def _why_unusable(row: WatchedRow, state: Account) -> tuple[str, str]:
    return why_unusable(
        row.blockhash,
        row.nonce_signers or b"",
        lamports=state.lamports,
        owner=state.owner,
        data=state.data,
    )


def _reason(gone: _Gone) -> str:
    if gone.word == "blockhash_expired":
        return _ORDINARY
    assert gone.row.nonce is not None
    return f"{gone.word}: {Pubkey(gone.row.nonce)} {gone.why}"
