"""Reads a file of blocks, of any known format and compression, block by block."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from chain.blocks import SlotRecord
from chain.units import Slot
from upstream.archives.car import BlockhashOf, CarBlocks, is_car
from upstream.archives.compression import ByteStream
from upstream.archives.confirmed_block import bare_block, contained_block
from upstream.archives.containers import DBIN_MAGIC, dbin_messages, is_tar, tar_members
from upstream.archives.errors import BadBlockFile, Unreadable
from upstream.archives.foreign_forms import foreign_form
from upstream.archives.json_dumps import json_blocks
from upstream.archives.marked_text import readable
from upstream.archives.stream_blocks import (
    are_block_updates,
    block_updates,
    is_block_update,
    is_transaction_update,
)

GETBLOCK_JSON = "getBlock json"
CONFIRMED_BLOCK = "ConfirmedBlock protobuf"
BLOCK_UPDATE = "SubscribeUpdateBlock protobuf"
DBIN = "dbin"
TAR = "tar of block files"
CAR = "CAR epoch"
LARGEST_BLOCK = 512 * 1024 * 1024
_TAR_HEADER = 512
# Also the separator of RFC 7464.
_BEFORE_JSON = b" \t\r\n\x1e"


def none_known(slot: Slot) -> str | None:
    """The blockhash_of of a reader that has the file alone."""
    return None


def open_block_file(
    path: Path,
    *,
    slot: int | None = None,
    largest_block: int = LARGEST_BLOCK,
    blockhash_of: BlockhashOf = none_known,
) -> "BlockFile":
    """The blocks of a file: getBlock JSON in the forms of json_dumps, ConfirmedBlock or
    SubscribeUpdateBlock protobuf, dbin or a tar of these, or a CAR epoch; plain, gzip or zstd;
    detected by content.

    `slot` is for a file of one block that does not say its slot itself. A block of more than
    `largest_block` bytes unpacked is refused. `blockhash_of` is for a CAR epoch: a block that it
    knows is passed over. BadBlockFile for content, OSError for the path.
    """
    return BlockFile(path, slot=slot, largest_block=largest_block, blockhash_of=blockhash_of)


class BlockFile:
    """An open file of blocks; iterate once, close or use as a context manager.

    `format` is one of this module's constants, `warnings` grows with what was taken for granted,
    `known` with the blocks that `blockhash_of` knew, `not_taken` with those that could not be
    taken: a warning names each.
    """

    def __init__(
        self, path: Path, *, slot: int | None, largest_block: int, blockhash_of: BlockhashOf
    ) -> None:
        self.path = path
        self.known = 0
        self.not_taken = 0
        self.warnings: list[str] = []
        self.size = path.stat().st_size
        self._slot = slot
        self._largest_block = largest_block
        self._blockhash_of = blockhash_of
        self._file = path.open("rb")
        try:
            self._stream = readable(self._file)
            self.format = _format(self._stream)
            if slot is not None and self.format in (DBIN, TAR, CAR, BLOCK_UPDATE):
                raise Unreadable("", f"slot {slot} is given, but the file can hold many blocks")
        except Unreadable as fault:
            self.close()
            raise BadBlockFile(path, fault.place, fault.reason) from None
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        """Bytes of the file taken so far, of `size` in all; packed bytes where it is packed."""
        return self.size if self._file.closed else self._file.tell()

    def __iter__(self) -> Iterator[SlotRecord]:
        try:
            yield from self._blocks(self._stream, self.format, self.path.name)
        except Unreadable as fault:
            raise BadBlockFile(self.path, fault.place, fault.reason) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; twice does no harm."""
        self._file.close()

    def _blocks(self, stream: ByteStream, kind: str, name: str) -> Iterator[SlotRecord]:
        if kind == TAR:
            for member_name, member in tar_members(stream):
                try:
                    inner = readable(member)
                    inner_kind = _format(inner)
                    if inner_kind == TAR:
                        raise Unreadable("", "a tar inside a tar is not read")
                    yield from self._blocks(inner, inner_kind, member_name)
                except Unreadable as fault:
                    raise fault.inside(f"member {member_name}") from None
        elif kind == DBIN:
            for number, message in enumerate(dbin_messages(stream, self._largest_block), 1):
                yield contained_block(message, number)
        elif kind == CAR:
            yield from self._car_blocks(stream)
        elif kind == BLOCK_UPDATE:
            yield from block_updates(stream, self._largest_block)
        elif kind == GETBLOCK_JSON:
            for record, guessed in json_blocks(
                stream,
                self._largest_block,
                given=self._slot,
                name=name,
                warn=self.warnings.append,
            ):
                yield self._taken(record, guessed, name)
        else:
            data = stream.read_all(self._largest_block)
            yield self._taken(*bare_block(data, given=self._slot, name=name), name)

    def _taken(self, record: SlotRecord, guessed: bool, name: str) -> SlotRecord:
        if guessed:
            self.warnings.append(
                f"{name}: the slot is not given; assumed to be parentSlot + 1 = {record.slot}. "
                "Pass --slot if it is another."
            )
        return record

    def _car_blocks(self, stream: ByteStream) -> Iterator[SlotRecord]:
        blocks = CarBlocks(stream, self._largest_block, self._blockhash_of)
        try:
            for record in blocks:
                self.known = blocks.known
                yield record
        finally:
            self.known = blocks.known
            self.not_taken = blocks.not_taken
            self.warnings += blocks.warnings


def _format(stream: ByteStream) -> str:
    start = stream.peek(_TAR_HEADER)
    if not start:
        raise Unreadable("", "the file is empty")
    if not start.strip(_BEFORE_JSON):
        raise Unreadable("", "nothing but white space")
    if start.startswith(DBIN_MAGIC):
        return DBIN
    if is_tar(start):
        return TAR
    text = start.lstrip(_BEFORE_JSON)
    if text[:1] in (b"{", b"[") or text.startswith(b"null"):
        return GETBLOCK_JSON
    if is_car(start):
        return CAR
    if is_block_update(start):
        return BLOCK_UPDATE
    if is_transaction_update(start):
        raise Unreadable(
            "",
            "a SubscribeUpdateTransaction: one transaction and not its block; import the block"
            " (getBlock, or the stream's blocks)",
        )
    # ConfirmedBlock begins with field 1, a text of 32 to 44 base58 characters.
    if start[0] == 0x0A and len(start) > 1 and 32 <= start[1] <= 44:
        return CONFIRMED_BLOCK
    if are_block_updates(start):
        return BLOCK_UPDATE
    named = foreign_form(start)
    if named:
        raise Unreadable("", named)
    raise Unreadable(
        "",
        "neither getBlock JSON nor ConfirmedBlock or SubscribeUpdateBlock protobuf, dbin, a tar of"
        " these or a CAR",
    )
