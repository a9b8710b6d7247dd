"""Seals finished ranges of slots: packs their texts and their indexes, in steps.

A step is one transaction: it writes what it packed, reads it back from the database, compares it,
and only then drops the rows that it stands for. A process that is killed leaves a step done or not
begun. Blocks that come late stay in the written tables until a later step seals them too.
"""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby

import zstandard
from django.db import transaction

from chain.block_json import has_meta
from columns.queries import lift_timeouts
from historical.blocks import bodies as block_bodies
from historical.blocks.store import blocks as block_store
from historical.sealed import dictionary as segment_dictionary
from historical.sealed.dictionary import SegmentDictionary
from historical.sealed.entries import SealedEntry, pack_entries
from historical.sealed.packed_index import SignatureIndex, packed_place, signature_key
from historical.sealed.packed_texts import FRAME_TEXT, OpenFrame, pack_frame, rewritten_texts
from historical.sealed.services import index_merging, index_packing
from historical.sealed.store import index_runs, sealed_blocks, sealing
from historical.sealed.store.sealing import BodyRow, NewFrame, NewSealedBlock, RangeRow, TextRow
from historical.transactions.outcomes import UNKNOWN
from historical.transactions.segments import segment_of
from sealed.life import Backlog
from shared_state import counters

log = logging.getLogger(__name__)

# Of a step; a block is never cut.
_MOST_TRANSACTIONS = 8_000
_MOST_BODY_BYTES = 12 * 1_048_576
_MOST_BLOCKS = 2_048
# Blocks that were recorded just now may be followed by their neighbours, or be removed again.
_SETTLES = timedelta(minutes=10)
# Texts that a range's dictionary is made from.
_SAMPLE_BYTES = 12 * 1_048_576
_SAMPLE_BLOCKS = 256
_DELETED_AT_ONCE = 20_000


class SealMismatch(Exception):
    """What was read back of a block is not what was to be sealed: the step was rolled back."""

    def __init__(self, sealed_range: int, slot: int, what: str) -> None:
        super().__init__(f"the {what} of block {slot}")
        self.sealed_range = sealed_range
        self.slot = slot


@dataclass(slots=True)
class _Content:
    """A block as it is to be sealed."""

    slot: int
    texts: list[bytes] = field(default_factory=list)
    entries: list[SealedEntry] = field(default_factory=list)


def is_due(range_slots: int, *, now: datetime) -> bool:
    """Whether a step may find something to do: always, once a range was begun."""
    return bool(sealing.ranges()) or backlog(range_slots, now).waiting > 0


def backlog(range_slots: int, now: datetime) -> Backlog:
    """The finished ranges that have blocks to be sealed."""
    end = _first_unfinished_slot(range_slots)
    before = now - _SETTLES
    found = sealing.unsealed_blocks(0, end - 1, recorded_before=before, limit=1)
    if not found:
        return Backlog(0, 0)
    waiting = (end - 1 - found[0].slot) // range_slots + 1
    return Backlog(waiting, (waiting - 1) * range_slots)


def seal_step(
    *,
    range_slots: int,
    now: datetime,
    settles: timedelta = _SETTLES,
    finished_below: int | None = None,
) -> str | None:
    """The next step of sealing ranges of so many slots, a multiple of 64; what was done, None if
    there is nothing to do now, or another process is at it. Blocks that were recorded less than
    `settles` ago wait. Ranges below the newest slot are finished, or slots below `finished_below`.
    Raises IndexMismatch, SealedDataDamaged.
    """
    if finished_below is None:
        finished_below = _first_unfinished_slot(range_slots)
    try:
        return _step(range_slots, finished_below, now, settles)
    except SealMismatch as error:
        log.error("block %d is not sealed: %s were not read back as written", error.slot, error)
        with transaction.atomic():
            sealing.set_unsealable(error.sealed_range, [error.slot])
        return f"left block {error.slot} as it is"


@transaction.atomic
def _step(range_slots: int, end: int, now: datetime, settles: timedelta) -> str | None:
    lift_timeouts()
    if not sealing.try_alone():
        return None
    if index_runs.delete_merged(_DELETED_AT_ONCE):
        return "deleted merged blocks of the index"
    ranges = sealing.ranges()
    done = index_packing.pack_addresses(ranges) or index_merging.merge_step()
    if done is not None:
        return done
    before = now - settles
    found = sealing.unsealed_blocks(0, end - 1, recorded_before=before, limit=1)
    if found:
        sealed_range = _range_of(found[0].slot, ranges, range_slots)
        if sealed_range.id < 0:
            return _start(sealed_range, before, now)
        return _seal_blocks(sealed_range, before)
    return index_merging.finish_step(ranges, now)


def _first_unfinished_slot(range_slots: int) -> int:
    """The first slot of the lowest range that more blocks are expected in."""
    bounds = block_store.bounds()
    if bounds is None:
        return 0
    settled = bounds[1] + 1 - range_slots // 100
    return max(settled, 0) // range_slots * range_slots


def _range_of(slot: int, ranges: Sequence[RangeRow], range_slots: int) -> RangeRow:
    """The range that has the slot; its number is negative if it is to be started."""
    first = slot // range_slots * range_slots
    last = first + range_slots - 1
    for each in ranges:
        if each.first_slot <= slot <= each.last_slot:
            return each
        if each.last_slot < slot:
            first = max(first, each.last_slot + 1)
        else:
            last = min(last, each.first_slot - 1)
    return RangeRow(-1, first, last, [], [], False)


def _start(planned: RangeRow, before: datetime, now: datetime) -> str:
    """Makes the range with a dictionary of what its blocks have in common."""
    found = sealing.unsealed_blocks(
        planned.first_slot, planned.last_slot, recorded_before=before, limit=2 * 10**6
    )
    slots = [each.slot for each in found]
    chosen = random.Random(planned.first_slot).sample(slots, min(_SAMPLE_BLOCKS, len(slots)))
    texts: list[tuple[int, list[bytes]]] = []
    size = 0
    for slot in chosen:
        contents, _ = _contents([slot])
        texts += [(content.slot, content.texts) for content in contents]
        size += sum(len(text) for content in contents for text in content.texts)
        if size > _SAMPLE_BYTES:
            break
    whole = [text for _, some in sorted(texts) for text in some]
    keys = segment_dictionary.common_keys(_frames_of(whole))
    estimate = size * len(slots) // max(1, len(texts))
    trained = segment_dictionary.train(
        rewritten_texts(whole, SegmentDictionary(keys, b"")), estimate
    )
    sealing.insert_range(
        planned.first_slot,
        planned.last_slot,
        keys=segment_dictionary.sealed(keys),
        dictionary=segment_dictionary.sealed(trained),
        now=now,
    )
    return f"started range {planned.first_slot} to {planned.last_slot}"


def _frames_of(texts: Sequence[bytes]) -> list[list[bytes]]:
    frames: list[list[bytes]] = [[]]
    size = 0
    for text in texts:
        if size >= FRAME_TEXT:
            frames.append([])
            size = 0
        frames[-1].append(text)
        size += len(text)
    return frames


def _seal_blocks(sealed_range: RangeRow, before: datetime) -> str:
    """Seals the range's next blocks: texts, signatures and their index."""
    slots = _next_slots(sealed_range, before)
    contents, unreadable = _contents(slots)
    if unreadable:
        log.warning("blocks that cannot be sealed: %s", unreadable)
        sealing.set_unsealable(sealed_range.id, unreadable)
    dictionary = sealed_blocks.dictionary(sealed_range.id)
    frames, blocks = _pack(contents, dictionary, sealed_range.id)
    sealing.insert_frames(frames)
    sealing.insert_sealed_blocks(blocks)
    _verify(sealed_range.id, contents, dictionary, [frame.id for frame in frames])
    entries = sorted(
        signature_key(entry.signature) + packed_place(content.slot, position)
        for content in contents
        for position, entry in enumerate(content.entries)
    )
    index_packing.add_run(sealed_range.id, SignatureIndex, entries)
    count = len(entries)
    dropped = sealing.drop_unsealed([content.slot for content in contents])
    if dropped != (len(contents), count):
        raise RuntimeError(f"dropped {dropped}, not {len(contents)} blocks of {count} transactions")
    sealing.set_unindexed(
        sealed_range.id,
        {*sealed_range.unindexed, *(segment_of(content.slot) for content in contents)},
    )
    sealing.count_sealed(
        sealed_range.id,
        blocks=len(contents),
        transactions=count,
        text_bytes=sum(len(text) for content in contents for text in content.texts),
        packed_bytes=sum(len(frame.frame) for frame in frames),
    )
    sealing.moved()
    sealed: dict[counters.CounterName, int] = {(counters.SEALED, "ledger"): count}
    transaction.on_commit(partial(counters.add, sealed), robust=True)
    return f"sealed {len(contents)} blocks with {count} transactions from slot {slots[0]}"


def _next_slots(sealed_range: RangeRow, before: datetime) -> list[int]:
    slots: list[int] = []
    transactions = size = 0
    for block in sealing.unsealed_blocks(
        sealed_range.first_slot,
        sealed_range.last_slot,
        recorded_before=before,
        limit=_MOST_BLOCKS,
    ):
        transactions += block.transactions
        size += block.body_bytes
        if slots and (transactions > _MOST_TRANSACTIONS or size > _MOST_BODY_BYTES):
            break
        slots.append(block.slot)
    return slots


def _contents(slots: Sequence[int]) -> tuple[list[_Content], list[int]]:
    """The blocks, and the slots of those that cannot be read completely."""
    rows = {
        slot: list(of_slot)
        for slot, of_slot in groupby(sealing.transactions(slots), key=lambda row: row.slot)
    }
    contents, unreadable = [], []
    for stored in sealing.bodies(slots):
        content = _content(stored, rows.get(stored.slot, []))
        if content is None:
            unreadable.append(stored.slot)
        else:
            contents.append(content)
    return contents, unreadable


def _content(stored: BodyRow, rows: Sequence[TextRow]) -> _Content | None:
    """None if rows and body are not of the same transactions."""
    if [row.position for row in rows] != list(range(stored.transactions)):
        return None
    try:
        frames = block_bodies.open_frames(stored.body, stored.frames)
    except zstandard.ZstdError:
        return None
    content = _Content(stored.slot)
    for number, of_frame in groupby(rows, key=lambda row: row.frame):
        texts: list[bytes] = []
        for row in of_frame:
            text = (
                frames[number][row.start : row.start + row.length] if number < len(frames) else b""
            )
            texts.append(text)
            # Releases up to 0.9.0 wrote no error for it, as if it had succeeded.
            content.entries.append(row.entry if has_meta(text) else row.entry._replace(err=UNKNOWN))
        if number >= len(frames) or b",".join(texts) != frames[number]:
            return None
        content.texts += texts
    return content


def _pack(
    contents: Sequence[_Content], dictionary: SegmentDictionary, sealed_range: int
) -> tuple[list[NewFrame], list[NewSealedBlock]]:
    """Frames of the texts of all the blocks one after the other, and where each block's stand."""
    frames: list[list[tuple[int, bytes]]] = [[]]
    placed: list[tuple[_Content, list[int], list[int], int]] = []
    size = 0
    for content in contents:
        numbers: list[int] = []
        ends: list[int] = []
        skipped = 0
        for position, text in enumerate(content.texts):
            if size >= FRAME_TEXT:
                frames.append([])
                size = 0
            if not numbers or numbers[-1] != len(frames) - 1:
                if numbers:
                    ends.append(position)
                else:
                    skipped = len(frames[-1])
                numbers.append(len(frames) - 1)
            frames[-1].append((content.slot, text))
            size += len(text)
        if numbers:
            ends.append(len(content.texts))
        placed.append((content, numbers, ends, skipped))
    whole = [frame for frame in frames if frame]
    ids = sealing.frame_numbers(len(whole))
    new_frames = [
        NewFrame(
            number,
            sealed_range,
            frame[0][0],
            frame[-1][0],
            pack_frame([text for _, text in frame], dictionary),
        )
        for number, frame in zip(ids, whole, strict=True)
    ]
    packed = sum(len(frame.frame) for frame in new_frames)
    text_bytes = sum(len(text) for content in contents for text in content.texts)
    blocks = []
    for content, numbers, ends, skipped in placed:
        entries = pack_entries(content.entries)
        share = sum(map(len, content.texts)) * packed // max(1, text_bytes)
        places = [ids[number] for number in numbers], ends, skipped
        blocks.append(
            NewSealedBlock(
                content.slot, sealed_range, entries, *places, share + len(entries.entries)
            )
        )
    return new_frames, blocks


def _verify(
    sealed_range: int,
    contents: Sequence[_Content],
    dictionary: SegmentDictionary,
    numbers: Sequence[int],
) -> None:
    """Reads the blocks back and compares them. Raises SealMismatch, SealedDataDamaged."""
    stored = sealed_blocks.frames(numbers)
    frames = {number: OpenFrame(frame, dictionary) for number, frame in stored.items()}
    rows = {row.slot: row for row in sealed_blocks.sealed_blocks([each.slot for each in contents])}
    for content in contents:
        row = rows.get(content.slot)
        if row is None or sealed_blocks.entries_of(row) != content.entries:
            raise SealMismatch(sealed_range, content.slot, "entries")
        parts = row.parts()
        texts = b",".join(frames[number].texts(first, end) for number, first, end in parts)
        count = sum(end - first for _, first, end in parts)
        if count != len(content.texts) or texts != b",".join(content.texts):
            raise SealMismatch(sealed_range, content.slot, "texts")
