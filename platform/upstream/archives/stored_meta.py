"""Status metas and rewards as early ledgers stored them (bincode) → the protobuf of later ones."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from upstream.archives.errors import Unreadable
from upstream.protobuf import confirmed_block_pb2 as schema

_INSTRUCTION_ERROR = 8
_DUPLICATE_INSTRUCTION = 30
_WITH_ACCOUNT_INDEX = (31, 35)
_CUSTOM = 25
_BORSH_IO_ERROR = 44
# bincode numbers the variants from 0, protobuf uses 0 for "unspecified".
_REWARD_TYPES = 6


class _Ended(Exception):
    """The bytes end before a value does, or are none of its kind."""


@dataclass(frozen=True, slots=True)
class _Age:
    """One historical format of the ledger: the bytes do not say which one it is."""

    token_balance: Callable[["_Bytes", Any], None]
    stack_height: bool = False


def stored_meta(data: bytes) -> Any:
    """The TransactionStatusMeta message in these bytes, whatever age wrote them; Unreadable."""
    for age in _AGES:
        bytes_ = _Bytes(data)
        try:
            meta = _meta(bytes_, age)
        except (_Ended, UnicodeDecodeError):
            continue
        if bytes_.at_end:
            return meta
    raise Unreadable("", "neither protobuf nor any known bincode form")


def stored_rewards(data: bytes) -> Any:
    """The Rewards message in these bytes; Unreadable."""
    for reward in (_reward, _reward_without_commission, _reward_without_type, _oldest_reward):
        bytes_ = _Bytes(data)
        rewards = schema.Rewards()
        try:
            for _ in range(bytes_.count()):
                reward(bytes_, rewards.rewards.add())
        except (_Ended, UnicodeDecodeError):
            continue
        if bytes_.at_end:
            return rewards
    raise Unreadable("", "neither protobuf nor any known bincode form")


class _Bytes:
    """bincode, value by value: little-endian, lengths of 8 bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise _Ended
        self._at += size
        return taken

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def double(self) -> float:
        (value,) = struct.unpack("<d", self.take(8))
        return float(value)

    def count(self) -> int:
        """A list's length; each member takes a byte at least."""
        length = self.number(8)
        if length > len(self._data) - self._at:
            raise _Ended
        return length

    def short_count(self) -> int:
        """A length of one to three bytes, seven bits in each."""
        value = shift = 0
        while shift < 21:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise _Ended

    def text(self) -> str:
        return self.take(self.count()).decode()

    def option(self) -> bool:
        tag = self.number(1)
        if tag > 1:
            raise _Ended
        return tag == 1

    def option_or_end(self) -> bool:
        """False too where the bytes end: the age before did not have the field."""
        return not self.at_end and self.option()

    def since(self, start: int) -> bytes:
        return self._data[start : self._at]

    @property
    def at(self) -> int:
        return self._at


def _meta(data: _Bytes, age: _Age) -> Any:
    meta = schema.TransactionStatusMeta()
    status = data.number(4)
    if status > 1:
        raise _Ended
    if status == 1:
        meta.err.err = _error(data)
    meta.fee = data.number(8)
    meta.pre_balances.extend(data.number(8) for _ in range(data.count()))
    meta.post_balances.extend(data.number(8) for _ in range(data.count()))
    meta.inner_instructions_none = not data.option_or_end()
    if not meta.inner_instructions_none:
        for _ in range(data.count()):
            _inner(data, meta.inner_instructions.add(), age)
    meta.log_messages_none = not data.option_or_end()
    if not meta.log_messages_none:
        meta.log_messages.extend(data.text() for _ in range(data.count()))
    for balances in (meta.pre_token_balances, meta.post_token_balances):
        if data.option_or_end():
            for _ in range(data.count()):
                age.token_balance(data, balances.add())
    if data.option_or_end():
        for _ in range(data.count()):
            _reward(data, meta.rewards.add())
    meta.return_data_none = not data.option_or_end()
    if not meta.return_data_none:
        meta.return_data.program_id = data.take(32)
        meta.return_data.data = data.take(data.count())
    if data.option_or_end():
        meta.compute_units_consumed = data.number(8)
    if data.option_or_end():
        meta.cost_units = data.number(8)
    return meta


def _error(data: _Bytes) -> bytes:
    """The bytes of one TransactionError: its readers want them cut out."""
    start = data.at
    variant = data.number(4)
    if variant == _INSTRUCTION_ERROR:
        data.take(1)
        instruction_error = data.number(4)
        if instruction_error == _CUSTOM:
            data.take(4)
        elif instruction_error == _BORSH_IO_ERROR:
            data.take(data.count())
    elif variant == _DUPLICATE_INSTRUCTION or variant in _WITH_ACCOUNT_INDEX:
        data.take(1)
    return data.since(start)


def _inner(data: _Bytes, inner: Any, age: _Age) -> None:
    inner.index = data.number(1)
    for _ in range(data.count()):
        instruction = inner.instructions.add()
        instruction.program_id_index = data.number(1)
        instruction.accounts = data.take(data.short_count())
        instruction.data = data.take(data.short_count())
        if age.stack_height and data.option():
            instruction.stack_height = data.number(4)


def _token_balance(data: _Bytes, balance: Any) -> None:
    balance.account_index = data.number(1)
    balance.mint = data.text()
    amount = balance.ui_token_amount
    amount.ui_amount = data.double()
    amount.decimals = data.number(1)
    amount.amount = data.text()


def _token_balance_with_text(data: _Bytes, balance: Any) -> None:
    balance.account_index = data.number(1)
    balance.mint = data.text()
    amount = balance.ui_token_amount
    if data.option():
        amount.ui_amount = data.double()
    amount.decimals = data.number(1)
    amount.amount = data.text()
    amount.ui_amount_string = data.text()


def _token_balance_with_owner(data: _Bytes, balance: Any) -> None:
    _token_balance(data, balance)
    balance.owner = data.text()


def _token_balance_with_program(data: _Bytes, balance: Any) -> None:
    _token_balance_with_owner(data, balance)
    balance.program_id = data.text()


def _oldest_reward(data: _Bytes, reward: Any) -> None:
    reward.pubkey = data.text()
    reward.lamports = data.number(8, signed=True)


def _reward_without_type(data: _Bytes, reward: Any) -> None:
    _oldest_reward(data, reward)
    reward.post_balance = data.number(8)


def _reward_without_commission(data: _Bytes, reward: Any) -> None:
    _reward_without_type(data, reward)
    if data.option():
        kind = data.number(4) + 1
        if kind > _REWARD_TYPES:
            raise _Ended
        reward.reward_type = kind


def _reward(data: _Bytes, reward: Any) -> None:
    _reward_without_commission(data, reward)
    if data.option():
        reward.commission = str(data.number(1))


# The usual ones first; a stack height came with the youngest that still wrote bincode, if at all.
_AGES = [
    _Age(_token_balance),
    _Age(_token_balance_with_text),
    _Age(_token_balance_with_owner),
    _Age(_token_balance_with_program),
    _Age(_token_balance_with_program, stack_height=True),
]
