"""Status metas and rewards as early ledgers stored them (bincode) → the protobuf of later ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from upstream.archives.errors import Unreadable
from upstream.protobuf import confirmed_block_pb2 as schema

_INSTRUCTION_ERROR = 8
_DUPLICATE_INSTRUCTION = 30
_WITH_ACCOUNT_INDEX = (31, 35)
_CUSTOM = 25
_BORSH_IO_ERROR = 44
# bincode numbers the variants from 0, protobuf uses 0 for "unspecified".
_REWARD_TYPES = 6


@dataclass(frozen=True, slots=True)
class _Age:
    """One historical format of the ledger: the bytes do not say which one it is."""

    token_balance: Callable[[Cursor, Any], None]
    stack_height: bool = False


def stored_meta(data: bytes) -> Any:
    """The TransactionStatusMeta message in these bytes, whatever age wrote them; Unreadable."""
    for age in _AGES:
        cursor = Cursor(data)
        try:
            meta = _meta(cursor, age)
            cursor.end()
        except UnreadableError:
            continue
        return meta
    raise Unreadable("", "neither protobuf nor any known bincode form")


def stored_rewards(data: bytes) -> Any:
    """The Rewards message in these bytes; Unreadable."""
    for reward in (_reward, _reward_without_commission, _reward_without_type, _oldest_reward):
        cursor = Cursor(data)
        rewards = schema.Rewards()
        try:
            for _ in range(cursor.u64()):
                reward(cursor, rewards.rewards.add())
            cursor.end()
        except UnreadableError:
            continue
        return rewards
    raise Unreadable("", "neither protobuf nor any known bincode form")


def _option_or_end(data: Cursor) -> bool:
    """False too where the bytes end: the age before did not have the field."""
    return data.at < len(data.data) and data.flag()


def _meta(data: Cursor, age: _Age) -> Any:
    meta = schema.TransactionStatusMeta()
    status = data.u32()
    if status > 1:
        raise UnreadableError
    if status == 1:
        meta.err.err = _error(data)
    meta.fee = data.u64()
    meta.pre_balances.extend(data.u64() for _ in range(data.u64()))
    meta.post_balances.extend(data.u64() for _ in range(data.u64()))
    meta.inner_instructions_none = not _option_or_end(data)
    if not meta.inner_instructions_none:
        for _ in range(data.u64()):
            _inner(data, meta.inner_instructions.add(), age)
    meta.log_messages_none = not _option_or_end(data)
    if not meta.log_messages_none:
        meta.log_messages.extend(data.bincode_text() for _ in range(data.u64()))
    for balances in (meta.pre_token_balances, meta.post_token_balances):
        if _option_or_end(data):
            for _ in range(data.u64()):
                age.token_balance(data, balances.add())
    if _option_or_end(data):
        for _ in range(data.u64()):
            _reward(data, meta.rewards.add())
    meta.return_data_none = not _option_or_end(data)
    if not meta.return_data_none:
        meta.return_data.program_id = data.take(32)
        meta.return_data.data = data.bincode_bytes()
    if _option_or_end(data):
        meta.compute_units_consumed = data.u64()
    if _option_or_end(data):
        meta.cost_units = data.u64()
    return meta


def _error(data: Cursor) -> bytes:
    """The bytes of one TransactionError: its readers want them cut out."""
    start = data.at
    variant = data.u32()
    if variant == _INSTRUCTION_ERROR:
        data.take(1)
        instruction_error = data.u32()
        if instruction_error == _CUSTOM:
            data.take(4)
        elif instruction_error == _BORSH_IO_ERROR:
            data.bincode_bytes()
    elif variant == _DUPLICATE_INSTRUCTION or variant in _WITH_ACCOUNT_INDEX:
        data.take(1)
    return data.data[start : data.at]


def _inner(data: Cursor, inner: Any, age: _Age) -> None:
    inner.index = data.u8()
    for _ in range(data.u64()):
        instruction = inner.instructions.add()
        instruction.program_id_index = data.u8()
        instruction.accounts = data.take(data.short_length())
        instruction.data = data.take(data.short_length())
        if age.stack_height and data.flag():
            instruction.stack_height = data.u32()


def _token_balance(data: Cursor, balance: Any) -> None:
    balance.account_index = data.u8()
    balance.mint = data.bincode_text()
    amount = balance.ui_token_amount
    amount.ui_amount = data.f64()
    amount.decimals = data.u8()
    amount.amount = data.bincode_text()


def _token_balance_with_text(data: Cursor, balance: Any) -> None:
    balance.account_index = data.u8()
    balance.mint = data.bincode_text()
    amount = balance.ui_token_amount
    if data.flag():
        amount.ui_amount = data.f64()
    amount.decimals = data.u8()
    amount.amount = data.bincode_text()
    amount.ui_amount_string = data.bincode_text()


def _token_balance_with_owner(data: Cursor, balance: Any) -> None:
    _token_balance(data, balance)
    balance.owner = data.bincode_text()


def _token_balance_with_program(data: Cursor, balance: Any) -> None:
    _token_balance_with_owner(data, balance)
    balance.program_id = data.bincode_text()


def _oldest_reward(data: Cursor, reward: Any) -> None:
    reward.pubkey = data.bincode_text()
    reward.lamports = data.i64()


def _reward_without_type(data: Cursor, reward: Any) -> None:
    _oldest_reward(data, reward)
    reward.post_balance = data.u64()


def _reward_without_commission(data: Cursor, reward: Any) -> None:
    _reward_without_type(data, reward)
    if data.flag():
        kind = data.u32() + 1
        if kind > _REWARD_TYPES:
            raise UnreadableError
        reward.reward_type = kind


def _reward(data: Cursor, reward: Any) -> None:
    _reward_without_commission(data, reward)
    if data.flag():
        reward.commission = str(data.u8())


# The usual ones first; a stack height came with the youngest that still wrote bincode, if at all.
_AGES = [
    _Age(_token_balance),
    _Age(_token_balance_with_text),
    _Age(_token_balance_with_owner),
    _Age(_token_balance_with_program),
    _Age(_token_balance_with_program, stack_height=True),
]
