"""Files of blocks into the ledger."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from chain.blocks import SlotRecord
from historical.errors import BadBlock, BlockConflict
from historical.services import imports
from historical.services.recording import Recorded, record_blocks
from ingest.errors import ImportRefused
from ingest.services import tip_ledger
from upstream.archives.block_files import BlockFile, open_block_file
from upstream.archives.errors import BadBlockFile

# Told after every block: bytes of the file read so far, bytes in all.
Progress = Callable[[int, int], None]


def import_file(
    path: Path, *, slot: int | None, now: Callable[[], datetime], progress: Progress
) -> tuple[Recorded, list[str]]:
    """All blocks of a file, in one transaction: what was recorded, and warnings; raises
    ImportRefused, after which nothing of the file is in the ledger. Every try is kept as a row of
    the imports table.
    """
    entry = imports.begin(str(path), now=now())
    position = 0
    try:
        with open_block_file(path, slot=slot) as blocks:

            def told(read: int, size: int) -> None:
                nonlocal position
                position = read
                progress(read, size)

            passing = tip_ledger.recorded(_told(blocks, told), now=now())
            recorded = record_blocks(passing, now=now())
            imports.finish(
                entry, recorded, file_format=blocks.format, warnings=blocks.warnings, now=now()
            )
            return recorded, blocks.warnings
    except (BadBlockFile, BadBlock, BlockConflict, OSError) as error:
        reason = _reason(error, position)
        imports.fail(entry, reason, now=now())
        raise ImportRefused(path, reason) from error
    except BaseException as error:  # an interrupt too must not leave the row as running
        imports.fail(entry, f"stopped: {type(error).__name__}", now=now())
        raise


def _reason(error: Exception, position: int) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder; name the files in it"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, BadBlockFile):
        place = error.place or (f"after {position:,} bytes of the file" if position else "")
        return f"{place}: {error.reason}" if place else error.reason
    if isinstance(error, BlockConflict):
        return f"{error}; the file may be of another chain"
    return str(error)


def _told(blocks: BlockFile, progress: Progress) -> Iterator[SlotRecord]:
    for record in blocks:
        yield record
        progress(blocks.position, blocks.size)
