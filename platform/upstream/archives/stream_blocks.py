"""Blocks as the Geyser stream sends them (SubscribeUpdateBlock), kept in a file → SlotRecord."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from chain.blocks import SlotRecord
from chain.leb128 import LONGEST, leb128
from chain.transactions import BadTransaction
from chain.units import Slot
from upstream.archives.compression import ByteStream
from upstream.archives.confirmed_block import record_of
from upstream.archives.errors import Unreadable
from upstream.geyser.messages import transaction_of
from upstream.protobuf import geyser_pb2 as schema

_VARINT, _TEXT = 0, 2
_LOOK = 512
# Base58 of 32 bytes.
_HASH_TEXT = range(32, 45)
_LONGEST_FILTER_NAME = 128
_SIGNATURE_FIELD = b"\x0a\x40"


def is_block_update(start: bytes) -> bool:
    """Whether a file's first bytes are a SubscribeUpdateBlock, or a SubscribeUpdate with one."""
    fields = [(number, wire_type, value) for number, wire_type, value, _ in _fields(start)]
    if fields[:1] and fields[0][:2] == (1, _VARINT):
        return len(fields) > 1 and fields[1][:2] == (2, _TEXT) and fields[1][2] in _HASH_TEXT
    for number, wire_type, value in fields:
        if wire_type != _TEXT or number not in (1, 5):
            return False
        if number == 5:
            return True
        if value > _LONGEST_FILTER_NAME:
            return False
    return False


def are_block_updates(start: bytes) -> bool:
    """Whether a file's first bytes are several block updates, each behind its length."""
    _, width = leb128(start)
    return width > 0 and is_block_update(start[width:])


def is_transaction_update(start: bytes) -> bool:
    """Whether they are a SubscribeUpdateTransaction, or a SubscribeUpdate with one."""
    fields = _fields(start)
    for number, wire_type, value, at in fields:
        if (number, wire_type) == (1, _TEXT) and start[at : at + 2] == _SIGNATURE_FIELD:
            return True
        if number == 1 and wire_type == _TEXT and value <= _LONGEST_FILTER_NAME:
            continue
        return number == 4 and start[at : at + 1] == b"\x0a"
    return False


def block_updates(stream: ByteStream, most: int) -> Iterator[SlotRecord]:
    """The blocks of the file, none larger than `most` bytes."""
    if is_block_update(stream.peek(_LOOK)):
        yield _record(stream.read_all(most), "")
        return
    number = 0
    while start := stream.peek(LONGEST):
        number += 1
        place = f"message {number}"
        size, width = leb128(start)
        if width == 0:
            raise Unreadable(place, "its length is damaged, or the file ends inside it")
        if size > most:
            raise Unreadable(place, f"a block larger than {most} bytes is not read")
        stream.read(width)
        message = stream.read(size)
        if len(message) < size:
            raise Unreadable(place, "the file ends inside this message")
        yield _record(message, place)


def _record(data: bytes, place: str) -> SlotRecord:
    try:
        if data[:1] == b"\x08":
            message = schema.SubscribeUpdateBlock.FromString(data)
        else:
            update = schema.SubscribeUpdate.FromString(data)
            if update.WhichOneof("update_oneof") != "block":
                kind = update.WhichOneof("update_oneof") or "empty"
                raise Unreadable(place, f"an update of kind {kind}, no block")
            message = update.block
    except DecodeError:
        raise Unreadable(place, "the protobuf data is damaged or ends too early") from None
    where = f"slot {message.slot}"
    try:
        return _slot_record(message)
    except Unreadable as fault:
        raise fault.inside(f"{place} ({where})" if place else where) from None


def _slot_record(message: Any) -> SlotRecord:
    if message.parent_slot >= message.slot and message.slot != 0:
        raise Unreadable("parentSlot", f"{message.parent_slot} is not before the slot")
    declared, found = message.executed_transaction_count, len(message.transactions)
    infos = sorted(message.transactions, key=lambda info: info.index)
    # Servers before the count was introduced leave it 0.
    if (declared and found != declared) or [info.index for info in infos] != list(range(found)):
        reason = (
            f"{found} of the block's {declared}; subscribe with include_transactions and without"
            " account_include"
        )
        raise Unreadable("transactions", reason)
    transactions = []
    for info in infos:
        try:
            transactions.append(transaction_of(info))
        except (Unreadable, BadTransaction) as fault:
            inner = f".{fault.place}" if fault.place else ""
            raise Unreadable(f"transactions[{info.index}]{inner}", fault.reason) from None
    previous = message.parent_blockhash
    return record_of(message, message.rewards, previous, Slot(message.slot), transactions)


def _fields(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The fields at the top of a message, as far as the bytes reach: number, wire type, value or
    length, and where the content begins.
    """
    at = 0
    while at < len(data):
        tag, width = leb128(data, at)
        if width == 0 or tag & 7 not in (_VARINT, _TEXT):
            return
        value, value_width = leb128(data, at + width)
        if value_width == 0:
            return
        at += width + value_width
        yield tag >> 3, tag & 7, value, at
        if tag & 7 == _TEXT:
            at += value
