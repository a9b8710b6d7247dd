"""What real validators sent, recorded: the slots of a recorded stream."""

import struct
from collections.abc import Iterator
from pathlib import Path

import zstandard

from chain.blocks import SlotRecord
from upstream.geyser.assembly import Assembler
from upstream.geyser.closed_slots import slot_record
from upstream.geyser.events import SlotClosed
from upstream.geyser.updates import EntryUpdate, Ping, update_of

_LENGTH = struct.Struct("<I")


def recorded_slots(path: Path) -> Iterator[SlotRecord]:
    """The slots that the follower makes of a recorded stream (`geyser.bin.zst`), in order."""
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    assembler = Assembler()
    at = 0
    while at < len(data):
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        update = update_of(data[at : at + size])
        at += size
        if update is None or isinstance(update, EntryUpdate | Ping):
            continue
        for event in assembler.feed(update):
            if isinstance(event, SlotClosed):
                yield slot_record(event.closed)
