"""What real validators sent, recorded (the fixtures `agave-…`): messages of the stream, and the
slots that the follower makes of them.
"""

import io
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.units import Slot
from upstream.archives.snapshots import Snapshot
from upstream.geyser.assembly import Assembler
from upstream.geyser.events import SlotClosed
from upstream.geyser.messages import ClosedSlot
from upstream.geyser.updates import (
    AccountUpdate,
    BlockMetaUpdate,
    SlotUpdate,
    TransactionUpdate,
    stores_untouched,
    update_of,
)

_ASSEMBLED = AccountUpdate | BlockMetaUpdate | SlotUpdate | TransactionUpdate


def messages(recording: Path) -> Iterator[bytes]:
    """Each behind its length: u32, little-endian."""
    with (recording / "geyser.bin.zst").open("rb") as file:
        plain = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), 1 << 20)
        while length := plain.read(4):
            yield plain.read(*struct.unpack("<I", length))


def closed_slots(
    recording: Path, *, begin: Slot | None = None, stream: Iterable[bytes] | None = None
) -> Iterator[ClosedSlot]:
    """The finalized slots, from `begin` or the first whole one on; of the `stream`, where one is
    given instead of what the node sent.
    """
    version = recording.name.removeprefix("agave-")
    assembler = Assembler(begin=begin, stores_untouched=stores_untouched(version))
    for packed in messages(recording) if stream is None else stream:
        update = update_of(packed)
        if isinstance(update, _ASSEMBLED):
            for event in assembler.feed(update):
                if isinstance(event, SlotClosed):
                    yield event.closed


def unwritten_accounts(recording: Path, records: Iterable[SlotRecord]) -> dict[bytes, AccountWrite]:
    """What stood before the recording and was not written in it, such as programs: a snapshot from
    within it has them as they were.
    """
    written = {write.pubkey for each in records for write in each.account_writes or ()}
    path = min(recording.glob("snapshot-*.tar.zst"))
    newest: dict[bytes, tuple[Slot, AccountWrite]] = {}
    with Snapshot(path) as snapshot:
        for slot, account in snapshot:
            held = newest.get(account.pubkey)
            if account.pubkey not in written and (held is None or held[0] <= slot):
                newest[account.pubkey] = slot, account
    return {key: account for key, (_, account) in newest.items() if account.lamports}
