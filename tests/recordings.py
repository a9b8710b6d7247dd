"""What real validators sent, recorded (the fixtures `agave-…`): messages of the stream, and the
slots that the follower makes of them.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import zstandard

from chain.units import Slot
from upstream.geyser.assembly import Assembler
from upstream.geyser.closed_slots import ClosedSlot
from upstream.geyser.events import SlotClosed
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    SlotUpdate,
    TransactionUpdate,
    update_of,
)
from upstream.geyser.written_accounts import stores_untouched

_ASSEMBLED = AccountUpdate | BlockMetaUpdate | SlotUpdate | TransactionUpdate


def messages(recording: Path) -> Iterator[bytes]:
    """Each behind its length: u32, little-endian."""
    with (recording / "geyser.bin.zst").open("rb") as file:
        plain = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), 1 << 20)
        while length := plain.read(4):
            yield plain.read(*struct.unpack("<I", length))


def closed_slots(recording: Path, *, begin: Slot | None = None) -> Iterator[ClosedSlot]:
    """The finalized slots, from `begin` or the first whole one on."""
    version = recording.name.removeprefix("agave-")
    assembler = Assembler(begin=begin, stores_untouched=stores_untouched(version))
    for packed in messages(recording):
        update = update_of(packed)
        if isinstance(update, _ASSEMBLED):
            for event in assembler.feed(update):
                if isinstance(event, SlotClosed):
                    yield event.closed
