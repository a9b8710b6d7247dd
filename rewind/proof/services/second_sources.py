"""What another source has of a refuted slot's accounts: a snapshot of that slot, a node, or the
slot's record as another stream has it.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.transactions import BadTransaction
from rewind import positions
from rewind.accounts.services.loading import account_of
from rewind.accounts.services.seeding import MOST_KEYS, node_accounts
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import State, newest_states
from rewind.positions import Position
from rewind.proof.store.locating import filtered_among
from upstream.archives.errors import BadSnapshot
from upstream.archives.snapshots import Snapshot
from upstream.node import Node, NodeError

_BATCH = 1_000
# A node is some slots ahead of what is archived.
_ARCHIVE_SECONDS = 10.0


class Unusable(Exception):
    """The source says nothing of the slot; the text says why."""


class SecondSource(Protocol):
    """Where an account's state comes from that is not the archive."""

    @property
    def name(self) -> str:
        """For people."""

    def differing(self, slot: int, touched: Collection[bytes]) -> tuple[dict[bytes, str], int]:
        """Accounts that the source has otherwise, and how that shows; and how many were compared.
        `touched` are those that the slot may have written. Raises Unusable.
        """


class SnapshotSource:
    """A snapshot archive of the slot itself: its storages of that slot have what the slot wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return self._path.name

    def differing(self, slot: int, touched: Collection[bytes]) -> tuple[dict[bytes, str], int]:
        return _compared(self.name, slot, self._of_slot(slot), touched, has_closed=False)

    def _of_slot(self, slot: int) -> dict[bytes, AccountWrite]:
        try:
            with Snapshot(self._path) as snapshot:
                found = {
                    each.account.pubkey: each.account for each in snapshot if each.slot == slot
                }
        except (BadSnapshot, OSError) as fault:
            raise Unusable(str(fault)) from None
        if snapshot.slot != slot:
            raise Unusable(f"{self._path} is of slot {snapshot.slot}, not {slot}")
        return found


class RecordSource:
    """The slot as a stream has it; `fetch` gives its record, with account writes, or raises
    Unusable.
    """

    def __init__(self, name: str, fetch: Callable[[int], SlotRecord]) -> None:
        self._name = name
        self._fetch = fetch

    @property
    def name(self) -> str:
        return self._name

    def differing(self, slot: int, touched: Collection[bytes]) -> tuple[dict[bytes, str], int]:
        record = self._fetch(slot)
        try:
            indexes = positions.first_signatures(record.transactions)
            places = positions.placed(record.account_writes or (), indexes)
        except (positions.UnknownSignature, BadTransaction) as fault:
            raise Unusable(f"{self.name}: {fault}") from None
        last = {pubkey: places[pubkey, at] for pubkey, at in sorted(places)}
        return _compared(self.name, slot, last, touched, has_closed=True)


class NodeSource:
    """A node, which knows the newest states: of accounts that no later slot wrote, they are those
    of the slot's end.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def name(self) -> str:
        return self._node.name

    def differing(self, slot: int, touched: Collection[bytes]) -> tuple[dict[bytes, str], int]:
        found: dict[bytes, str] = {}
        compared = 0
        for batch in _batches(sorted(touched), MOST_KEYS):
            try:
                accounts, at = node_accounts(self._node, batch)
            except (NodeError, msgspec.MsgspecError, ValueError) as fault:
                raise Unusable(f"no accounts from {self.name}: {fault}") from None
            latest = _latest_at(at)
            if at < slot or latest is None or latest < at:
                raise Unusable(
                    f"{self.name} answered for slot {at}, the archive is at {latest}: try again"
                )
            states = _states_at(at, batch)
            for key, account in zip(batch, accounts, strict=True):
                state = states.get(key)
                if state is not None and state.slot > slot:
                    continue
                compared += 1
                if why := _difference(account_of(state), account):
                    found[key] = f"{why} at {self.name}"
        return found, compared


def _latest_at(slot: int) -> int | None:
    """The archive's newest slot, once it has come to this one; or after some seconds."""
    end = time.monotonic() + _ARCHIVE_SECONDS
    while True:
        latest = look_up_slot(slot).latest
        if (latest is not None and latest >= slot) or time.monotonic() > end:
            return latest
        time.sleep(0.2)


def _compared(
    name: str,
    slot: int,
    stored: Mapping[bytes, AccountWrite],
    touched: Collection[bytes],
    *,
    has_closed: bool,
) -> tuple[dict[bytes, str], int]:
    """The archive against what a source has of every account that the slot wrote: as
    SecondSource.differing. `has_closed`: also of those that the slot closed.
    """
    left_out = filtered_among(stored.keys())
    keys = [key for key in stored if key not in left_out]
    found: dict[bytes, str] = {}
    for batch in _batches(keys, _BATCH):
        states = _states_at(slot, batch)
        for key in batch:
            if why := _difference(account_of(states.get(key)), stored[key]):
                found[key] = f"{why} in {name}"
    absent = [key for key in touched if key not in stored]
    for batch in _batches(absent, _BATCH):
        for key, state in _states_at(slot, batch).items():
            if state.slot == slot and (has_closed or state.lamports):
                found[key] = f"{name} has no write of it"
    return found, len(keys)


def _batches(keys: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (keys[at : at + size] for at in range(0, len(keys), size))


def _states_at(slot: int, keys: Sequence[bytes]) -> dict[bytes, State]:
    return newest_states(list(keys), Position.end_of(slot), look_up_slot(slot).layout)


def _difference(archived: Account | None, other: AccountWrite) -> str:
    """What the other source has otherwise; empty where they agree."""
    if archived is None or not other.lamports:
        if (archived is None) == (not other.lamports):
            return ""
        return "it is not there" if archived is not None else "it is there"
    pairs = (
        ("lamports", archived.lamports, other.lamports),
        ("owner", archived.owner, Pubkey(other.owner)),
        ("executable", archived.executable, other.executable),
    )
    for name, has, should in pairs:
        if has != should:
            return (
                f"its {name} are {should} instead of {has}"
                if name == "lamports"
                else (f"its {name} is {should} instead of {has}")
            )
    if bytes(archived.data) != other.data:
        return f"its data ({len(other.data)} bytes) is otherwise"
    return ""
