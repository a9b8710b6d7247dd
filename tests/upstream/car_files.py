"""Writes CAR epochs by hand: dag-cbor nodes with their CIDs, children first."""

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import zstandard
from solders.hash import Hash

from chain.blocks import SlotRecord
from upstream.protobuf import confirmed_block_pb2 as schema

NO_REWARDS = b"\x01\x55\x00\x00"
Pack = Callable[[Any], bytes]


class Link(bytes):
    """A CID, written as a link and not as bytes."""


def cbor(value: Any) -> bytes:
    if value is None:
        return b"\xf6"
    if isinstance(value, Link):
        return b"\xd8\x2a" + cbor(b"\0" + bytes(value))
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return _head(4, len(value)) + b"".join(map(cbor, value))
    assert isinstance(value, dict)
    pairs = (cbor(key) + cbor(each) for key, each in value.items())
    return _head(5, len(value)) + b"".join(pairs)


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes([major << 5 | 23 + size.bit_length()]) + number.to_bytes(size)


def leb128(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def section(data: bytes) -> tuple[Link, bytes]:
    """A node's CID, and its section of the file."""
    cid = Link(b"\x01\x71\x12\x20" + hashlib.sha256(data).digest())
    return cid, leb128(len(cid) + len(data)) + cid + data


def protobuf(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def header() -> bytes:
    data = cbor({"roots": [Link(b"\x01\x71\x12\x20" + bytes(32))], "version": 1})
    return leb128(len(data)) + data


@dataclass
class Writer:
    """`frame` bytes of payload go into a frame (all, when 0); `hash_of` makes the checksum of
    payloads of several frames; `pack` writes a meta or the rewards.
    """

    frame: int = 0
    hash_of: Callable[[bytes], int] | None = None
    pack: Pack = protobuf
    pack_rewards: Pack = protobuf
    with_index: bool = True
    transactions_in_entry: int = 2

    def __post_init__(self) -> None:
        self.out = bytearray(header())

    def node(self, value: Any) -> Link:
        cid, written = section(cbor(value))
        self.out += written
        return cid

    def payload(self, data: bytes) -> list[Any]:
        if not self.frame or len(data) <= self.frame:
            return [6, None, None, None, data]
        pieces = [data[at : at + self.frame] for at in range(0, len(data), self.frame)]
        total = len(pieces)
        told = self.hash_of(data) if self.hash_of else None
        # Last ones first; each frame but the first is linked by the one before it or by the first.
        following: list[Link] = []
        for index in range(total - 1, 0, -1):
            if index % 3 == 0:
                following = [self.node([6, None, index, total, pieces[index], following])]
            else:
                following = [self.node([6, None, index, total, pieces[index]]), *following]
        return [6, told, 0, total, pieces[0], following]

    def block(self, record: SlotRecord, metas: Sequence[Any], rewards: Any = None) -> None:
        """`metas` are TransactionStatusMeta messages (or None), `rewards` a Rewards message."""
        links: list[Link] = []
        for index, (each, meta) in enumerate(zip(record.transactions, metas, strict=True)):
            data = self.payload(each.wire)
            packed = b"" if meta is None else zstandard.compress(self.pack(meta))
            place = [index] if self.with_index else []
            links.append(self.node([0, data, self.payload(packed), record.slot, *place]))
        entries = []
        for at in range(0, len(links), self.transactions_in_entry):
            some = links[at : at + self.transactions_in_entry]
            entries.append(self.node([1, 1, hashlib.sha256(b"".join(some)).digest(), list(some)]))
        final = bytes(Hash.from_string(record.blockhash))
        entries.append(self.node([1, 12_500, final, []]))
        link = Link(NO_REWARDS)
        if rewards is not None:
            packed = zstandard.compress(self.pack_rewards(rewards))
            link = self.node([5, record.slot, self.payload(packed)])
        told = [record.parent_slot, record.block_time or 0]
        if record.block_height is not None:
            told.append(record.block_height)
        shredding = [[index, -1] for index in range(len(entries))]
        self.node([2, record.slot, shredding, list(entries), told, link])

    def finished(self, first: int, last: int) -> bytes:
        """The whole file, with its Subset and Epoch nodes."""
        subset = self.node([3, first, last, []])
        self.node([4, first // 432_000, [subset]])
        return bytes(self.out)


def of_confirmed(record: SlotRecord, block: Any, **options: Any) -> bytes:
    """A CAR of the one block that a ConfirmedBlock message has."""
    writer = Writer(**options)
    metas = [each.meta if each.HasField("meta") else None for each in block.transactions]
    rewards = None
    if block.rewards or block.HasField("num_partitions"):
        rewards = schema.Rewards(rewards=block.rewards)
        if block.HasField("num_partitions"):
            rewards.num_partitions.CopyFrom(block.num_partitions)
    writer.block(record, metas, rewards)
    return writer.finished(record.slot, record.slot)


@dataclass(frozen=True)
class Bincode:
    """How one age of the ledger wrote a meta: `fields` is how many of the meta's were known."""

    fields: int = 12
    text_amount: bool = False
    owner: bool = False
    program: bool = False
    stack_height: bool = False

    def meta(self, meta: Any) -> bytes:
        out = b"\0\0\0\0" if not meta.HasField("err") else b"\1\0\0\0" + meta.err.err
        out += _u64(meta.fee) + _list(map(_u64, meta.pre_balances))
        out += _list(map(_u64, meta.post_balances))
        later = [
            _option(not meta.inner_instructions_none, self._inner(meta.inner_instructions)),
            _option(not meta.log_messages_none, _list(map(_text, meta.log_messages))),
            _option(True, self._balances(meta.pre_token_balances)),
            _option(True, self._balances(meta.post_token_balances)),
            _option(True, _list(map(_reward, meta.rewards))),
            _option(
                not meta.return_data_none,
                meta.return_data.program_id
                + _u64(len(meta.return_data.data))
                + meta.return_data.data,
            ),
            _option(meta.HasField("compute_units_consumed"), _u64(meta.compute_units_consumed)),
            _option(meta.HasField("cost_units"), _u64(meta.cost_units)),
        ]
        return out + b"".join(later[: self.fields - 4])

    def _inner(self, groups: Any) -> bytes:
        return _list(
            bytes([group.index]) + _list(map(self._instruction, group.instructions))
            for group in groups
        )

    def _instruction(self, each: Any) -> bytes:
        out = bytes([each.program_id_index]) + _short(each.accounts) + _short(each.data)
        if not self.stack_height:
            return out
        return out + _option(each.HasField("stack_height"), each.stack_height.to_bytes(4, "little"))

    def _balances(self, balances: Any) -> bytes:
        return _list(map(self._balance, balances))

    def _balance(self, balance: Any) -> bytes:
        amount = balance.ui_token_amount
        ui_amount = struct.pack("<d", amount.ui_amount)
        out = bytes([balance.account_index]) + _text(balance.mint)
        out += _option(True, ui_amount) if self.text_amount else ui_amount
        out += bytes([amount.decimals]) + _text(amount.amount)
        if self.text_amount:
            out += _text(amount.ui_amount_string)
        if self.owner:
            out += _text(balance.owner)
        if self.program:
            out += _text(balance.program_id)
        return out


def bincode_rewards(rewards: Any, fields: int = 5) -> bytes:
    """A list of rewards with so many fields, as in its age."""
    return _list(_reward(each, fields) for each in rewards.rewards)


def _reward(reward: Any, fields: int = 5) -> bytes:
    kind = (reward.reward_type - 1).to_bytes(4, "little") if reward.reward_type else b""
    known = [
        _text(reward.pubkey),
        reward.lamports.to_bytes(8, "little", signed=True),
        _u64(reward.post_balance),
        _option(bool(reward.reward_type), kind),
        _option(bool(reward.commission), bytes([int(reward.commission or 0)])),
    ]
    return b"".join(known[:fields])


def _u64(number: int) -> bytes:
    return int(number).to_bytes(8, "little")


def _text(text: str) -> bytes:
    return _u64(len(text.encode())) + text.encode()


def _list(items: Any) -> bytes:
    written = list(items)
    return _u64(len(written)) + b"".join(written)


def _option(there: bool, written: bytes) -> bytes:
    return b"\1" + written if there else b"\0"


def _short(data: bytes) -> bytes:
    return leb128(len(data)) + data
