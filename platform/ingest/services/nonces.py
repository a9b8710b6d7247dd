"""Settles submissions on durable nonces, whose transactions no block height ends: by what moves
their nonce accounts in finalized blocks, and by the accounts' finalized states.

A hash never comes back, so a finalized state with another one ends a transaction. It may also be
older than the transaction's hash, which the sender read from a block that is not final yet. So a
state counts only from some slots behind the acceptance: the block that could have brought the hash
is below it, on whatever fork the sender was.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import SlotRecord
from chain.nonces import NONCE_SIZE, nonce_use, why_unusable
from chain.transactions import BadTransaction
from historical.store import blocks as ledger
from historical.store import transactions as ledger_transactions
from ingest.coverage import Coverage
from jsonrpc.errors import RpcError
from priority.fates import settling
from priority.store import settling as store
from priority.store.settling import FoundRow, WatchedRow
from rewind.services import nonces as archive
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_SYSTEM = bytes(32)
# How far the sender's node may have been ahead of the slot at acceptance.
SLOTS_AHEAD = 4
# Without that slot, so old must a submission be.
_UNPLACED = timedelta(seconds=60)
# A nonce that can still be used is looked at again after so long: that finds what was missed.
_AGAIN, _SOON = timedelta(minutes=10), timedelta(seconds=2)
_MOST_CHECKED, _ASKED_AT_ONCE, _STATUSES_AT_ONCE = 500, 100, 256
# From so many slots before its acceptance on it is looked for in the ledger, in so many at most.
_SLOTS_BEFORE, _MOST_SLOTS = 1_000, 20_000
_encode = msgspec.json.Encoder().encode


class _Account(NamedTuple):
    """An account at the end of a finalized slot; one that does not exist has 0 lamports. `since`
    says since when and by whom, where that is known.
    """

    lamports: int
    owner: bytes
    data: bytes
    slot: int
    since: str = ""


class _Move(NamedTuple):
    """A write of a nonce account in a block, by a transaction if that is known. `used` is the hash
    that the transaction stood on, if on this nonce; `state` is None where only the block is known.
    """

    nonce: bytes
    signature: bytes | None
    used: bytes | None
    state: _Account | None


class _Gone(NamedTuple):
    """A submission whose nonce cannot take it at the end of a slot, and why: it landed before that,
    or never can.
    """

    row: WatchedRow
    slot: int
    why: str


class Watch(NamedTuple):
    """The watched submissions whose nonces a run of blocks touches."""

    rows: list[WatchedRow]
    moves: Sequence[tuple[int, list[_Move]]]


def watch(records: Sequence[SlotRecord]) -> Watch:
    """What the blocks, in ascending order, do to watched nonces: one look-up by account."""
    if not records or not store.is_any_watched():
        return Watch([], [])
    every: set[bytes] | None = None
    touched: dict[int, set[bytes]] = {}
    for record in records:
        if record.account_writes is not None:
            touched[record.slot] = _written(record)
            continue
        every = store.watched_nonces() if every is None else every
        touched[record.slot] = _named(record, every)
    rows = store.on_nonces(set().union(*touched.values()))
    nonces = {row.nonce for row in rows}
    moves = [
        (record.slot, list(_moves(record, touched[record.slot] & nonces)))
        for record in records
        if touched[record.slot] & nonces
    ]
    return Watch(rows, moves)


def settle_moved(watched: Watch, found: Collection[bytes], *, now: datetime) -> None:
    """Settles those whose nonces moved; `found` are the signatures that are in the blocks."""
    left = [row for row in watched.rows if row.signature not in found]
    lost: dict[int, str] = {}
    gone: dict[int, _Gone] = {}
    for slot, moves in watched.moves:
        for move in moves:
            for row in left:
                if row.nonce != move.nonce or row.id in lost or row.id in gone:
                    continue
                if move.used == row.blockhash:
                    # By another transaction, whenever that was: the hash is used.
                    lost[row.id] = _moved(row, f"has another hash{_since(slot, move.signature)}")
                elif move.state is None or not _counts(row, slot, now):
                    continue
                elif why := _why(row, move.state, _since(slot, move.signature)):
                    gone[row.id] = _Gone(row, slot, why)
    lost |= {each.row.id: each.why for each in _without_landing(gone.values())}
    settling.settle_lost(lost, now=now)
    store.check_again([row.id for row in left if row.id not in lost], now)


def check_due(*, node: Node | None, accepted_before: datetime, now: datetime) -> None:
    """Looks at nonces that are due: of new submissions, of those whose nonces were touched, and of
    old ones now and then.
    """
    rows = store.nonces_to_check(accepted_before=accepted_before, now=now, most=_MOST_CHECKED)
    if not rows:
        return
    # In this order, so that what lands in between is found.
    states = _states({row.nonce for row in rows if row.nonce is not None}, node)
    places = ledger_transactions.places([row.signature for row in rows])
    settling.settle_found([FoundRow(each, *place) for each, place in places.items()], now=now)
    gone, sure, unsure = [], [], []
    for row in rows:
        state = None if row.nonce is None else states.get(row.nonce)
        if row.nonce is None:
            sure.append(row.id)  # of an older version: only its block settles it
        elif state is None or not _counts(row, state.slot, now):
            unsure.append(row.id)
        elif row.signature in places:
            continue
        elif why := _why(row, state, state.since):
            gone.append(_Gone(row, state.slot, why))
        else:
            sure.append(row.id)
    lost = _without_landing(gone)
    ids = {each.row.id for each in lost}
    rest = [each for each in gone if each.row.id not in ids]
    if rest and node is not None:
        try:
            lost += _unknown_to(node, rest, now)
        except NodeError as error:
            log.info("%s cannot report fates: %s", node.name, error)
    settling.settle_lost({each.row.id: each.why for each in lost}, now=now)
    store.check_again(sure, now + _AGAIN)
    store.check_again([*unsure, *(each.row.id for each in rest)], now + _SOON)


def _without_landing(gone: Iterable[_Gone]) -> list[_Gone]:
    """Those that the ledger proves not to have moved their nonces themselves."""
    asked = list(gone)
    bounds = ledger.bounds()
    if not asked or bounds is None:
        return []
    firsts = {each.row.id: _first(each.row) for each in asked}
    known = [first for first in firsts.values() if first is not None]
    lowest = max(min(known, default=bounds[1]), bounds[1] - _MOST_SLOTS, 0)
    coverage = Coverage(ledger.heights_between(lowest, bounds[1]))
    places = ledger_transactions.places([each.row.signature for each in asked])
    return [
        each
        for each in asked
        if each.row.signature not in places
        and (first := firsts[each.row.id]) is not None
        and first >= lowest
        and coverage.is_whole(first, each.slot)
    ]


def _first(row: WatchedRow) -> int | None:
    """From where it may have landed: its sender may have sent it elsewhere too. The genesis holds
    no transaction.
    """
    return None if row.accepted_slot is None else max(row.accepted_slot - _SLOTS_BEFORE, 1)


def _unknown_to(node: Node, gone: Sequence[_Gone], now: datetime) -> list[_Gone]:
    """Those that the node does not have in a block; what it has finalized is settled. Raises
    NodeError.
    """
    lost, found = [], []
    for at in range(0, len(gone), _STATUSES_AT_ONCE):
        some = gone[at : at + _STATUSES_AT_ONCE]
        statuses = node.signature_statuses([each.row.signature for each in some])
        for each, status in zip(some, statuses, strict=True):
            if status is None:
                lost.append(each)
            elif status.is_finalized:
                err = None if status.err is None else _encode(status.err).decode()
                found.append(FoundRow(each.row.signature, status.slot, None, err))
    settling.settle_found(found, now=now)
    return lost


def _counts(row: WatchedRow, slot: int, now: datetime) -> bool:
    """Whether a state at the slot's end is newer than any that the sender can have seen."""
    if row.accepted_slot is None:
        return row.accepted_at < now - _UNPLACED
    return slot >= row.accepted_slot + SLOTS_AHEAD


def _why(row: WatchedRow, state: _Account, since: str) -> str:
    word, why = why_unusable(
        row.blockhash,
        row.nonce_signers or b"",
        lamports=state.lamports,
        owner=state.owner,
        data=state.data,
    )
    return word and f"{word}: {_name(row)} {why}{since}"


def _moved(row: WatchedRow, why: str) -> str:
    return f"nonce_moved: {_name(row)} {why}"


def _name(row: WatchedRow) -> str:
    assert row.nonce is not None
    return str(Pubkey(row.nonce))


def _since(slot: int, signature: bytes | None) -> str:
    return f" since slot {slot}{'' if signature is None else f', by {Signature(signature)}'}"


def _written(record: SlotRecord) -> set[bytes]:
    """Written accounts that are nonces, or may have been."""
    return {
        write.pubkey
        for write in record.account_writes or ()
        if not write.lamports or (len(write.data) == NONCE_SIZE and write.owner == _SYSTEM)
    }


def _named(record: SlotRecord, nonces: set[bytes]) -> set[bytes]:
    """Those of the nonces that a transaction of the block names."""
    found: set[bytes] = set()
    for transaction in record.transactions if nonces else ():
        try:
            found |= nonces.intersection(transaction.account_keys)
        except BadTransaction:
            continue
    return found


def _moves(record: SlotRecord, nonces: set[bytes]) -> Iterator[_Move]:
    uses = {}
    for transaction in record.transactions:
        try:
            wire = transaction.decoded
        except BadTransaction:
            continue
        use = nonce_use(wire)
        if use is not None and use.account in nonces:
            uses[wire.signatures[0], use.account] = wire.recent_blockhash
    if record.account_writes is None:
        for (signature, nonce), used in uses.items():
            yield _Move(nonce, signature, used, None)
        return
    writes = [write for write in record.account_writes if write.pubkey in nonces]
    for write in sorted(writes, key=lambda each: each.write_version):
        used_hash = None if write.signature is None else uses.get((write.signature, write.pubkey))
        state = _Account(write.lamports, write.owner, write.data, record.slot)
        yield _Move(write.pubkey, write.signature, used_hash, state)


def _states(nonces: set[bytes], node: Node | None) -> dict[bytes, _Account]:
    """Finalized states: the archive's, or the node's where the archive does not follow the account
    or has not seen every slot.
    """
    try:
        slot, known = archive.newest_known(nonces)
    except RpcError as error:
        log.info("the archive cannot be read for nonces: %s", error)
        slot, known = -1, {}
    writers = archive.writers([each.written for each in known.values() if each.written])
    found = {}
    for key, each in known.items():
        since = ""
        if each.written is not None:
            writer = writers.get(each.written)
            since = _since(each.written.slot, None if writer is None else bytes(writer))
        found[key] = _Account(each.lamports, each.owner, each.data, slot, since)
    rest = sorted(nonces - found.keys())
    for at in range(0, 0 if node is None else len(rest), _ASKED_AT_ONCE):
        assert node is not None
        some = rest[at : at + _ASKED_AT_ONCE]
        try:
            slot, accounts = node.accounts(some)
        except NodeError as error:
            log.info("%s cannot read nonces: %s", node.name, error)
            break
        for key, account in zip(some, accounts, strict=True):
            lamports, owner, data = (0, b"", b"") if account is None else account
            found[key] = _Account(lamports, owner, data, slot, f" at slot {slot}")
    return found
