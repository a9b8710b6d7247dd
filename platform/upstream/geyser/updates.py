"""Updates of the stream as values: decoded as far as assembling slots needs. Which accounts a
validator stores for a transaction is the measure of a stream's wholeness.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from chain.encodings import b58decode
from chain.reserved import RESERVED_KEYS, UPGRADEABLE_LOADER
from chain.units import Slot
from upstream.protobuf import geyser_pb2 as schema

_RESERVED = frozenset(b58decode(key) for key in RESERVED_KEYS)
_LOADER = b58decode(UPGRADEABLE_LOADER)
_SYSTEM_PROGRAM = bytes(32)
_ADVANCE_NONCE = (4).to_bytes(4, "little")
# From this version on a validator may leave out accounts that a transaction locked for writing and
# did not touch (it was merged for 4.3, and may be in a 4.2 by now).
_LEAVES_OUT = (4, 2)


class BadUpdate(Exception):
    """The stream sent what no server of the protocol sends; the text says what."""


class AdvancedNonce(NamedTuple):
    """The nonce account of a failed transaction's first instruction, and the transaction's
    blockhash (32 bytes): only if that is no block's was the nonce used, and stored.
    """

    pubkey: bytes
    blockhash: bytes


class Written(NamedTuple):
    """The accounts that were surely stored, those that were if the validator stores what a
    transaction could have written and did not touch, and the nonce that may have been.
    """

    pubkeys: tuple[bytes, ...]
    untouched: tuple[bytes, ...] = ()
    nonce: AdvancedNonce | None = None


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
    if not info.HasField("meta"):
        # Read as an empty meta it would have succeeded.
        raise BadUpdate(f"transaction {info.index} of slot {update.slot} comes without its meta")
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


def stores_untouched(version: str) -> bool:
    """Whether a validator of this version (`solana-core` of getVersion) stores every writable
    account of a successful transaction. An unknown version is taken for a new one.
    """
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", version)
    if found is None:
        return False
    major, minor, patch = (int(part or 0) for part in found.groups())
    if major == 0:  # Frankendancer: its third number is Agave's version, 20216 for 2.2.16
        major, minor = patch // 10_000, patch // 100 % 100
    return (major, minor) < _LEAVES_OUT


def account_keys(info: Any) -> list[bytes]:
    """Every account that a transaction of the stream names, looked-up ones behind the others."""
    meta = info.meta
    return [
        *info.transaction.message.account_keys,
        *meta.loaded_writable_addresses,
        *meta.loaded_readonly_addresses,
    ]


def written_accounts(message: Any, meta: Any) -> Written:
    """What a validator stored for a transaction of a block, from its messages Message and
    TransactionStatusMeta. IndexError where the message points outside its keys.

    On success every writable account: not the reserved keys, not programs that are called and not
    passed on, and none that did not exist before or after. The fee payer, and accounts whose
    lamports or tokens became others, were surely touched. On failure the fee payer alone.
    """
    static = list(message.account_keys)
    if meta.HasField("err"):
        return Written((static[0],), nonce=_nonce(message, static))
    header = message.header
    signed = header.num_required_signatures
    writable_signed = signed - header.num_readonly_signed_accounts
    writable_unsigned = len(static) - header.num_readonly_unsigned_accounts
    keys = [*static, *meta.loaded_writable_addresses, *meta.loaded_readonly_addresses]
    loaded_until = len(static) + len(meta.loaded_writable_addresses)
    called = {instruction.program_id_index for instruction in message.instructions}
    # With this loader among the keys a called program may be written; one that is not passed to an
    # instruction is not stored even so.
    passed: set[int] = set()
    if _LOADER in keys:
        for instruction in message.instructions:
            passed.update(instruction.accounts)
    before, after = meta.pre_balances, meta.post_balances
    has_balances = len(before) == len(after) == len(keys)
    tokens_changed = _tokens_changed(meta)
    written: list[bytes] = []
    untouched: list[bytes] = []
    for index, key in enumerate(keys[:loaded_until]):
        asked = index < writable_signed or signed <= index < writable_unsigned
        if index < len(static) and not asked:
            continue
        if key in _RESERVED or (index in called and index not in passed):
            continue
        if has_balances and not before[index] and not after[index]:
            continue
        changed = (has_balances and before[index] != after[index]) or index in tokens_changed
        (written if changed or not index else untouched).append(key)
    return Written(tuple(written), tuple(untouched))


def _tokens_changed(meta: Any) -> set[int]:
    """Indexes of token accounts whose amount, owner or mint became another."""
    if not meta.pre_token_balances and not meta.post_token_balances:
        return set()
    before = {each.account_index: _holding(each) for each in meta.pre_token_balances}
    after = {each.account_index: _holding(each) for each in meta.post_token_balances}
    return {
        index for index in before.keys() | after.keys() if before.get(index) != after.get(index)
    }


def _holding(balance: Any) -> tuple[str, str, str]:
    return balance.mint, balance.owner, balance.ui_token_amount.amount


def _nonce(message: Any, static: list[bytes]) -> AdvancedNonce | None:
    if not message.instructions:
        return None
    first = message.instructions[0]
    if static[first.program_id_index] != _SYSTEM_PROGRAM or first.data[:4] != _ADVANCE_NONCE:
        return None
    if not first.accounts or first.accounts[0] >= len(static):
        return None
    return AdvancedNonce(static[first.accounts[0]], message.recent_blockhash)
