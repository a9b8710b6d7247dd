"""Accounts without a record, read from the node: unwritten since, their state is still the same.

The node's finalized account is of its context slot. Where the archive has every slot from the
position up to that one, and no write of the account in any of them, the account was the same all
the way. It is kept as a row of kind base at the very beginning of that run of slots. Slots that
come meanwhile lie above the node's, so that no write of theirs can be missed.
"""

import logging
import time
from collections.abc import Sequence
from functools import cache

import msgspec
from django.conf import settings
from django.db import transaction
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.encodings import b64decode
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import absence, slot_lookup
from rewind.accounts.store import replaying as store
from rewind.models import AccountChange
from rewind.positions import CARRIED
from rewind.recording.store import (
    owners,
    partitions,
    slots,
    writing,
)
from rewind.sealed.store import segments
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# Accounts of one call to a node, and calls. All features of a chain take four; what does not fit
# into these stays without a record.
MOST_KEYS, _MOST_CALLS = 100, 4
_NODE_SECONDS = 1.0
# For the archive to come up to the slot that the node answered for.
_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 0.05
# Cooldown of a node that failed: each simulation would wait for it.
_COOLDOWN_SECONDS = 15.0

_cooldown_until = 0.0
_chains: dict[Node, str] = {}


class _Account(msgspec.Struct, rename="camel"):
    lamports: int
    owner: str
    data: tuple[str, str]
    executable: bool
    rent_epoch: int


class _Context(msgspec.Struct):
    slot: int


class _Accounts(msgspec.Struct):
    context: _Context
    value: list[_Account | None]


def seed(keys: Sequence[bytes], resolved: ResolvedPosition) -> bool:
    """Records the accounts whose state at the position follows from the node's; returns whether
    there is any. It takes three seconds at most, and a node that does not answer is no
    error.
    """
    global _cooldown_until
    if not settings.UPSTREAM_RPC_URL or time.monotonic() < _cooldown_until:
        return False
    from_slot = resolved.position.slot
    # Known to be in vain before the node is asked.
    if store.first_gap_from(from_slot) is not None:
        return False
    written = set(store.written_between(keys, from_slot, resolved.latest))
    asked = [key for key in keys if key not in written][: _MOST_CALLS * MOST_KEYS]
    if not asked:
        return False
    try:
        if not _is_of_this_chain(_node(settings.UPSTREAM_RPC_URL)):
            return False
        found, first_slot, last_slot = _ask(asked)
    except (NodeError, msgspec.MsgspecError, ValueError) as fault:
        log.warning("no accounts from the node: %s", fault)
        _cooldown_until = time.monotonic() + _COOLDOWN_SECONDS
        return False
    if first_slot < from_slot or not _reaches(last_slot):
        return False
    return _keep(found, from_slot, last_slot)


def forget() -> None:
    """The node is asked again, whatever it did before."""
    global _cooldown_until
    _cooldown_until = 0.0
    _chains.clear()


def _is_of_this_chain(node: Node) -> bool:
    """A node of another chain knows nothing of these accounts. Its chain is asked for once."""
    ours = store.chain_of_filters()
    if not ours:
        return False
    theirs = _chains.get(node)
    if theirs is None:
        theirs = _chains[node] = node.genesis_hash()
    return theirs == ours


def _ask(keys: Sequence[bytes]) -> tuple[list[AccountWrite], int, int]:
    """The accounts, those of 0 lamports that are not there; and the first and the last of the slots
    at whose ends they were. A slow node returns fewer.
    """
    until = time.monotonic() + _NODE_SECONDS
    node = _node(settings.UPSTREAM_RPC_URL)
    found, first = node_accounts(node, keys[:MOST_KEYS])
    last = first
    for at in range(MOST_KEYS, len(keys), MOST_KEYS):
        if time.monotonic() >= until:
            break
        more, slot = node_accounts(node, keys[at : at + MOST_KEYS])
        found, first, last = found + more, min(first, slot), max(last, slot)
    return found, first, last


def node_accounts(node: Node, keys: Sequence[bytes]) -> tuple[list[AccountWrite], int]:
    """At most MOST_KEYS finalized accounts of a node, those of 0 lamports that are not there, and
    the slot at whose end they were. Raises NodeError, msgspec.MsgspecError, ValueError.
    """
    result = node.call(
        "getMultipleAccounts",
        [str(Pubkey(key)) for key in keys],
        {"encoding": "base64", "commitment": "finalized"},
    )
    found = msgspec.convert(result, _Accounts)
    pairs = zip(keys, found.value, strict=True)
    return [_write(key, account) for key, account in pairs], found.context.slot


@cache
def _node(url: str) -> Node:
    return Node(url, timeout_seconds=_NODE_SECONDS)


def _write(key: bytes, account: _Account | None) -> AccountWrite:
    if account is None:
        return AccountWrite(key, 0, bytes(32), b"", False, 0, 0, None)
    return AccountWrite(
        key,
        account.lamports,
        bytes(Pubkey.from_string(account.owner)),
        b64decode(account.data[0]),
        account.executable,
        account.rent_epoch,
        0,
        None,
    )


def _reaches(slot: int) -> bool:
    """Whether the archive has come up to the slot, after a moment's patience."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        latest = slot_lookup.look_up_slot(slot).latest
        if latest is not None and latest >= slot:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_SECONDS)


def _keep(found: Sequence[AccountWrite], from_slot: int, to_slot: int) -> bool:
    """Rows for the accounts without a write in the run of archived slots up to `to_slot`."""
    with transaction.atomic():
        slots.lock_for_writing([])  # the window stays
        bounds = slots.bounds()
        gap = store.first_gap_from(from_slot)
        if bounds is None or not bounds[0] <= from_slot <= to_slot <= bounds[1]:
            return False
        if gap is not None and gap <= to_slot:
            return False
        below = store.last_gap_below(from_slot)
        first = bounds[0] if below is None else max(bounds[0], below + 1)
        keys = [write.pubkey for write in found]
        written = set(store.written_between(keys, first, to_slot))
        written |= absence.filtered_among(keys, to_slot)
        kept = [write for write in found if write.pubkey not in written]
        if not kept:
            return False
        # Owners before partitions, as all who lock both do.
        ids = owners.ids_of({write.owner for write in kept})
        partitions.ensure([first])
        base = AccountChange.Kind.BASE.value
        occurrences = segments.Occurrences()
        for write in kept:
            occurrences.add(write.pubkey, first)
        writing.stage()
        writing.copy_staged(
            writing.NewChange(first, CARRIED, ids[write.owner], base, write) for write in kept
        )
        writing.insert_staged()
        if first // partitions.SEGMENT_SLOTS < segments.kept():
            segments.keep(occurrences)
    return True
