"""Texts of stored blocks, sealed or not."""

from historical.blocks import bodies as block_bodies
from historical.blocks.services.text_caches import recent_opened
from historical.blocks.store import blocks as store
from historical.sealed.packed_texts import DamagedFrame, OpenFrame
from historical.sealed.store import frames, sealed_blocks
from historical.sealed.store.sealed_blocks import RangeGone, SealedRow


class RecordingGone(Exception):
    """The block was recorded again, removed or sealed after its row was read."""


def texts(
    number: int, sealed_range: int, first: int, end: int, frame: bytes | None = None
) -> bytes:
    """Texts of a frame of PackedTexts, joined by commas; `frame` if it was read already. Raises
    RecordingGone, SealedDataDamaged.
    """
    try:
        found = recent_opened.find(number)
        if not isinstance(found, OpenFrame):
            frame = frames.sealed_frame(number) if frame is None else frame
            if frame is None:
                raise RecordingGone
            found = OpenFrame(frame, sealed_blocks.dictionary(sealed_range))
            recent_opened.keep(number, found)
        return found.texts(first, end)
    except RangeGone:
        raise RecordingGone from None
    except DamagedFrame as error:
        what = f"frame {number} of texts"
        raise sealed_blocks.damaged("texts", number, what, error) from None


def stored_texts(row: SealedRow) -> bytes:
    """The stored texts of a sealed block, joined by commas. Raises RecordingGone,
    SealedDataDamaged.
    """
    read = sealed_blocks.frames(row.frames)
    found = []
    for number, first, end in row.parts():
        if number not in read:
            raise RecordingGone
        found.append(texts(number, row.sealed_range, first, end, read[number]))
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
