"""Nonce accounts in finalized slots: their states by the archive or by a node, and what moves them
in a block.
"""

import logging
from collections.abc import Collection, Iterator
from typing import NamedTuple

from solders.signature import Signature

from chain.blocks import SlotRecord
from chain.nonces import NONCE_SIZE, nonce_use
from chain.transactions import BadTransaction
from jsonrpc.errors import RpcError
from rewind.accounts.services import nonces as archive
from rewind.positions import Position
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_SYSTEM = bytes(32)
_ASKED_AT_ONCE = 100


class Account(NamedTuple):
    """An account at the end of a finalized slot; one that does not exist has 0 lamports.
    `written` is where the archive has its last write.
    """

    lamports: int
    owner: bytes
    data: bytes
    slot: int
    written: Position | None = None


class Move(NamedTuple):
    """A write of a nonce account in a block, by a transaction if that is known. `used` is the hash
    that the transaction stood on, if on this nonce; `state` is None where only the block is known.
    """

    nonce: bytes
    slot: int
    signature: bytes | None
    used: bytes | None
    state: Account | None


def written(record: SlotRecord) -> set[bytes]:
    """Written accounts that are nonces, or may have been."""
    return {
        write.pubkey
        for write in record.account_writes or ()
        if not write.lamports or (len(write.data) == NONCE_SIZE and write.owner == _SYSTEM)
    }


def named(record: SlotRecord, nonces: set[bytes]) -> set[bytes]:
    """Those of the nonces that a transaction of the block names."""
    found: set[bytes] = set()
    for transaction in record.transactions if nonces else ():
        try:
            found |= nonces.intersection(transaction.account_keys)
        except BadTransaction:
            continue
    return found


def moves(record: SlotRecord, nonces: set[bytes]) -> Iterator[Move]:
    """What the block does to these nonces, in order."""
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
            yield Move(nonce, record.slot, signature, used, None)
        return
    writes = [write for write in record.account_writes if write.pubkey in nonces]
    for write in sorted(writes, key=lambda each: each.write_version):
        used_hash = None if write.signature is None else uses.get((write.signature, write.pubkey))
        state = Account(write.lamports, write.owner, write.data, record.slot)
        yield Move(write.pubkey, record.slot, write.signature, used_hash, state)


def states(nonces: Collection[bytes], node: Node | None) -> dict[bytes, Account]:
    """Finalized states: the archive's, or the node's where the archive does not follow the account
    or has not seen every slot.
    """
    try:
        slot, known = archive.newest_known(nonces)
    except RpcError as error:
        log.info("the archive cannot be read for nonces: %s", error)
        slot, known = -1, {}
    found = {
        key: Account(each.lamports, each.owner, each.data, slot, each.written)
        for key, each in known.items()
    }
    if node is not None:
        found |= _by_node(sorted(set(nonces) - found.keys()), node)
    return found


def _by_node(nonces: list[bytes], node: Node) -> dict[bytes, Account]:
    found = {}
    for at in range(0, len(nonces), _ASKED_AT_ONCE):
        some = nonces[at : at + _ASKED_AT_ONCE]
        try:
            slot, accounts = node.accounts(some)
        except NodeError as error:
            log.info("%s cannot read nonces: %s", node.name, error)
            break
        for key, account in zip(some, accounts, strict=True):
            found[key] = Account(*(account or (0, b"", b"")), slot)
    return found


def left_at(
    nonce: bytes, durable: bytes, *, up_to_slot: int, signers: bytes | None
) -> archive.Left | None:
    """Whether, and where, the archive saw the nonce leave this hash, or, with `signers`, their
    authority.
    """
    try:
        return archive.left_at(nonce, durable, up_to_slot=up_to_slot, signers=signers)
    except RpcError as error:
        log.info("the archive cannot be read for a nonce: %s", error)
        return None


def writers(places: Collection[Position]) -> dict[Position, bytes]:
    """The signatures of the transactions that wrote there, of those that the ledger has."""
    return {place: bytes(found) for place, found in archive.writers(places).items()}


def since(slot: int, signature: bytes | None) -> str:
    """Since when a state stands, and by whom, for a reason."""
    return f" since slot {slot}{'' if signature is None else f', by {Signature(signature)}'}"
