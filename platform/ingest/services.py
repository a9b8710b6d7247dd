"""Files of blocks into the ledger."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from chain.blocks import SlotRecord
from historical.errors import BadBlock, BlockConflict
from historical.services import imports
from historical.services.recording import Recorded, record_blocks
from ingest.errors import ImportRefused
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
    entry = imports.begin(path.name, now=now())
    try:
        with open_block_file(path, slot=slot) as blocks:
            recorded = record_blocks(_told(blocks, progress), now=now())
            imports.finish(
                entry, recorded, file_format=blocks.format, warnings=blocks.warnings, now=now()
            )
            return recorded, blocks.warnings
    except (BadBlockFile, BadBlock, BlockConflict, OSError) as error:
        reason = f"{error.place}: {error.reason}" if isinstance(error, BadBlockFile) else str(error)
        imports.fail(entry, reason, now=now())
        raise ImportRefused(path, reason) from error
    except BaseException as error:  # an interrupt too must not leave the row as running
        imports.fail(entry, f"stopped: {type(error).__name__}", now=now())
        raise


def _told(blocks: BlockFile, progress: Progress) -> Iterator[SlotRecord]:
    for record in blocks:
        yield record
        progress(blocks.position, blocks.size)
