"""Updates of the stream as values: decoded as far as assembling slots needs."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from chain.encodings import b58decode
from chain.units import Slot
from upstream.geyser.written_accounts import AdvancedNonce, Written, written_accounts
from upstream.protobuf import geyser_pb2 as schema


class BadUpdate(Exception):
    """The stream sent what no server of the protocol sends; the text says what."""


class AccountUpdate(NamedTuple):
    """One account write; `packed` is the whole message. `signature` is b"" outside transactions,
    `owner` the program that owns the account since. `bank` is the validator's bank_id, here and in
    the other updates; 0 where the server does not send it.
    """

    slot: Slot
    pubkey: bytes
    write_version: int
    signature: bytes
    packed: bytes
    owner: bytes = b""
    bank: int = 0


class TransactionUpdate(NamedTuple):
    """One transaction of a block; `written` are the accounts that a node stored for it, `nonce`
    one that it stored only if the transaction was sent on a durable nonce, and `untouched` those
    that it stored only if its version stores what a transaction left as it was. `error` is the
    validator's packed error, b"" where it succeeded.
    """

    slot: Slot
    transaction_index: int
    signature: bytes
    written: tuple[bytes, ...]
    nonce: AdvancedNonce | None
    packed: bytes
    untouched: tuple[bytes, ...] = ()
    error: bytes = b""
    is_vote: bool = False
    bank: int = 0


class BlockMetaUpdate(NamedTuple):
    """What a block says of itself. `rewarded` are (pubkey, whether by fees) of accounts that the
    block's rewards changed.
    """

    slot: Slot
    parent_slot: Slot
    blockhash: str
    parent_blockhash: str
    transaction_count: int
    rewarded: tuple[tuple[bytes, bool], ...]
    packed: bytes
    height: int | None = None
    entry_count: int = 0
    bank: int = 0


class SlotUpdate(NamedTuple):
    """A slot reached a status, numbered as in schema.SlotStatus."""

    slot: Slot
    parent: Slot | None
    status: int
    dead_error: str = ""
    bank: int = 0


class EntryUpdate(NamedTuple):
    """One entry of a block; `packed` is the whole message. Slots are assembled without them."""

    slot: Slot
    place: int
    packed: bytes
    bank: int = 0


class FooterUpdate(NamedTuple):
    """The footer of a block (Alpenglow), with its certificates; `packed` is the whole message."""

    slot: Slot
    packed: bytes
    bank: int = 0


class ParentUpdate(NamedTuple):
    """A slot's block goes on from another parent (Alpenglow): the result before is void."""

    slot: Slot
    parent_slot: Slot
    packed: bytes


class Ping(NamedTuple):
    """The server asks whether we are there."""


Update: TypeAlias = AccountUpdate | TransactionUpdate | BlockMetaUpdate | SlotUpdate
# What is not stored, only passed on.
PassedOn: TypeAlias = EntryUpdate | FooterUpdate | ParentUpdate

_FEE = 1  # RewardType
_KEY_CHARACTERS = 44
_parse = schema.SubscribeUpdate.FromString


def update_of(packed: bytes) -> Update | PassedOn | Ping | None:
    """The update in a message's bytes; None for kinds that were not requested. Raises BadUpdate."""
    try:
        message = _parse(packed)
    except DecodeError:
        raise BadUpdate("a message is not of the protocol") from None
    kind = message.WhichOneof("update_oneof")
    if kind == "account":
        return _account(message.account, packed)
    if kind == "transaction":
        return _transaction(message.transaction, packed)
    if kind == "slot":
        slot = message.slot
        parent = Slot(slot.parent) if slot.HasField("parent") else None
        return SlotUpdate(Slot(slot.slot), parent, slot.status, slot.dead_error, slot.bank_id)
    if kind == "block_meta":
        return _block_meta(message.block_meta, packed)
    if kind == "entry":
        entry = message.entry
        return EntryUpdate(Slot(entry.slot), entry.index, packed, entry.bank_id)
    if kind == "block_footer":
        return FooterUpdate(Slot(message.block_footer.slot), packed, message.block_footer.bank_id)
    if kind == "entry_update_parent":
        changed = message.entry_update_parent
        return ParentUpdate(Slot(changed.slot), Slot(changed.parent_slot), packed)
    return Ping() if kind == "ping" else None


def _account(update: Any, packed: bytes) -> AccountUpdate | None:
    if update.is_startup:
        return None  # a state that was there before the stream began, not a write
    info = update.account
    pubkey, signature = info.pubkey, info.txn_signature
    if len(pubkey) != 32 or len(signature) not in (0, 64):
        raise BadUpdate(f"a write in slot {update.slot} has a key or signature of wrong length")
    version, owner, bank = info.write_version, info.owner, update.bank_id
    return AccountUpdate(update.slot, pubkey, version, signature, packed, owner, bank)


def _transaction(update: Any, packed: bytes) -> TransactionUpdate:
    info = update.transaction
    if len(info.signature) != 64:
        raise BadUpdate(f"a transaction of slot {update.slot} has no signature")
    try:
        written: Written = written_accounts(info.transaction.message, info.meta)
    except IndexError:
        raise BadUpdate(
            f"transaction {info.index} of slot {update.slot} names accounts that it has not"
        ) from None
    return TransactionUpdate(
        update.slot,
        info.index,
        info.signature,
        written.pubkeys,
        written.nonce,
        packed,
        written.untouched,
        info.meta.err.err,
        info.is_vote,
        update.bank_id,
    )


def _block_meta(meta: Any, packed: bytes) -> BlockMetaUpdate:
    try:
        rewarded = tuple(_rewarded(meta))
    except ValueError:
        raise BadUpdate(f"block {meta.slot} rewards what is no account") from None
    return BlockMetaUpdate(
        Slot(meta.slot),
        Slot(meta.parent_slot),
        meta.blockhash,
        meta.parent_blockhash,
        meta.executed_transaction_count,
        rewarded,
        packed,
        meta.block_height.block_height if meta.HasField("block_height") else None,
        meta.entries_count,
        meta.bank_id,
    )


def _rewarded(meta: Any) -> Iterator[tuple[bytes, bool]]:
    for reward in meta.rewards.rewards:
        if reward.lamports:
            if len(reward.pubkey) > _KEY_CHARACTERS:
                raise ValueError("too long for a key")
            yield b58decode(reward.pubkey), reward.reward_type == _FEE
