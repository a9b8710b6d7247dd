"""Compressed frames of bodies, those that were asked for lately from memory: a tenth to a fifth of
their texts, so that many more of them fit than of opened ones.
"""

from collections.abc import Sequence
from itertools import pairwise

from django.conf import settings

from columns.caches import ByteCache
from columns.raw_queries import afetch_one

recent_frames: ByteCache[bytes] = ByteCache(settings.LEDGER_CACHE_BYTES // 4)


async def aframe(slot: int, recording: int, number: int) -> bytes | None:
    """One compressed frame of a block's body; None when that recording is gone."""
    key = (slot, recording, number)
    found = recent_frames.find(key)
    if found is None:
        row = await afetch_one(
            "SELECT substring(body FROM coalesce(frames[$2], 0) + 1"
            " FOR frames[$2 + 1] - coalesce(frames[$2], 0))"
            " FROM historical_block WHERE slot = $1 AND xmin::text::bigint = $3",
            slot,
            number,
            recording,
        )
        if row is None:
            return None
        found = bytes(row[0])
        recent_frames.keep(key, found)
    return found


def keep(slot: int, recording: int, number: int, data: bytes) -> None:
    """Remembers a frame that was read beside something else."""
    recent_frames.keep((slot, recording, number), data)


def keep_all(slot: int, recording: int, body: bytes, ends: Sequence[int]) -> None:
    """Remembers the frames of a whole body."""
    for number, (start, end) in enumerate(pairwise((0, *ends))):
        recent_frames.keep((slot, recording, number), body[start:end])


async def asealed_frame(number: int) -> bytes | None:
    """A frame of sealed blocks' texts; None when it is gone."""
    found = recent_frames.find(number)
    if found is None:
        row = await afetch_one("SELECT frame FROM historical_packedtexts WHERE id = $1", number)
        if row is None:
            return None
        found = bytes(row[0])
        recent_frames.keep(number, found)
    return found


def keep_sealed(number: int, data: bytes) -> None:
    """Remembers a frame of sealed texts that was read beside something else."""
    recent_frames.keep(number, data)
