"""Texts of stored blocks, sealed or not."""

from eventloop.faces import complete, in_thread
from historical.blocks import bodies as block_bodies
from historical.blocks.services.text_caches import recent_opened
from historical.blocks.store import blocks as store
from historical.sealed.packed_texts import DamagedFrame, OpenFrame
from historical.sealed.store import frames, sealed_blocks
from historical.sealed.store.sealed_blocks import RangeGone, SealedRow


class RecordingGone(Exception):
    """The block was recorded again, removed or sealed after its row was read."""


async def atexts(
    number: int, sealed_range: int, first: int, end: int, frame: bytes | None = None
) -> bytes:
    """Texts of a frame of PackedTexts, joined by commas; `frame` if it was read already. Raises
    RecordingGone, SealedDataDamaged.
    """
    try:
        return (await _opened(number, sealed_range, frame)).texts(first, end)
    except DamagedFrame as error:
        what = f"frame {number} of texts"
        raise sealed_blocks.damaged("texts", number, what, error) from None


async def _opened(number: int, sealed_range: int, frame: bytes | None) -> OpenFrame:
    """Raises RecordingGone, DamagedFrame, SealedDataDamaged."""
    opened = recent_opened.find(number)
    if isinstance(opened, OpenFrame):
        return opened
    frame = await frames.asealed_frame(number) if frame is None else frame
    if frame is None:
        raise RecordingGone
    dictionary = sealed_blocks.recent_dictionaries.find(sealed_range)
    if dictionary is None:
        try:
            dictionary = await in_thread(sealed_blocks.dictionary, sealed_range)
        except RangeGone:
            raise RecordingGone from None
    opened = OpenFrame(frame, dictionary)
    recent_opened.keep(number, opened)
    return opened


def stored_texts(row: SealedRow) -> bytes:
    """The stored texts of a sealed block, joined by commas. Raises RecordingGone,
    SealedDataDamaged.
    """
    read = sealed_blocks.frames(row.frames)
    found = []
    for number, first, end in row.parts():
        if number not in read:
            raise RecordingGone
        place = number, row.sealed_range, first, end
        found.append(complete(atexts(*place, read[number])))
    return b",".join(found)


def block_texts(slot: int, recording: int, signatures: list[bytes]) -> bytes:
    """All texts of that recording of the block, joined by commas; `signatures` are their first
    ones. Raises RecordingGone, SealedDataDamaged.
    """
    stored = store.body_of_recording(slot, recording)
    if stored is not None:
        return block_bodies.unpack(*stored, signatures)
    sealed = sealed_blocks.sealed_recording(slot, recording)
    if sealed is None:
        raise RecordingGone
    return block_bodies.completed(stored_texts(sealed), *signatures)
