"""What a bank's writes say of its block: the messages' contents beside their order."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from chain.encodings import b58decode
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate, account_keys
from upstream.protobuf import geyser_pb2 as schema

T = TypeVar("T")
# Behind the number of entries: RecentBlockhashes' newest blockhash, SlotHashes' newest slot.
_NEWEST_BLOCKHASH = slice(8, 40)
_NEWEST_SLOT = slice(8, 16)


def has_registered(recent_blockhashes: AccountUpdate, blockhash: str, *, unread: bool) -> bool:
    """Whether the sysvar's newest blockhash is this one; `unread` where the message is not read."""
    return _read(
        recent_blockhashes.packed,
        lambda message: _part(message, _NEWEST_BLOCKHASH) == b58decode(blockhash),
        unread,
    )


def is_child_of(slot_hashes: AccountUpdate, parent: int) -> bool:
    """Whether the sysvar's newest slot is the parent; True where the message is not read."""
    return _read(
        slot_hashes.packed,
        lambda message: int.from_bytes(_part(message, _NEWEST_SLOT), "little") == parent,
        True,
    )


def has_balances(writes: Collection[AccountUpdate], transaction: TransactionUpdate) -> bool:
    """Whether the transaction's writes have the lamports that it left; True where the messages are
    not read.
    """
    left = _read(transaction.packed, _balances, dict[bytes, int]())
    return all(
        _read(each.packed, lambda message: message.account.account.lamports, 0) == left[each.pubkey]
        for each in writes
        if each.pubkey in left
    )


def is_of_block(
    writes: Collection[AccountUpdate],
    transactions: Collection[TransactionUpdate],
    meta: BlockMetaUpdate,
    *,
    slot_hashes: bytes,
    recent_blockhashes: bytes,
) -> bool:
    """Whether nothing in the writes contradicts the block; True where messages are not read. The
    keys are those of the two sysvars.
    """
    signed: dict[bytes, list[AccountUpdate]] = {}
    for each in writes:
        signed.setdefault(each.signature, []).append(each)
    for each in signed.get(b"", ()):
        if each.pubkey == slot_hashes and not is_child_of(each, meta.parent_slot):
            return False
        is_recent = each.pubkey == recent_blockhashes
        if is_recent and not has_registered(each, meta.blockhash, unread=True):
            return False
    return all(has_balances(signed.get(each.signature, ()), each) for each in transactions)


def _part(message: Any, part: slice) -> bytes:
    data = bytes(message.account.account.data[part])
    if len(data) < part.stop - part.start:
        raise ValueError("not the sysvar")
    return data


def _balances(message: Any) -> dict[bytes, int]:
    info = message.transaction.transaction
    return dict(zip(account_keys(info), info.meta.post_balances, strict=False))


def _read(packed: bytes, reading: Callable[[Any], T], unread: T) -> T:
    try:
        return reading(schema.SubscribeUpdate.FromString(packed))
    except (DecodeError, ValueError):
        return unread
