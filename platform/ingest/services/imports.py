"""Imports files of blocks into the ledger."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from chain.blocks import SlotRecord
from chain.signed import Signatures
from historical.coverage.services.gaps import close_imported
from historical.errors import BadBlock, BlockConflict
from historical.models import Import
from historical.recording.services import imports
from historical.recording.services.recording import Recorded, record_blocks
from ingest.errors import ImportRefused, OtherChain
from ingest.services.known_blocks import KnownBlocks, OneChain
from ingest.services.slots import record_tips
from upstream.archives.block_files import CAR, BlockFile, open_block_file
from upstream.archives.errors import BadBlockFile

# Called after every block with the bytes of the file read so far, and its size.
Progress = Callable[[int, int], None]
# Blocks whose tips are recorded at once.
_RUN_BLOCKS = 16


class Imported(NamedTuple):
    """The result for a file: `not_taken` of its blocks could not be stored, warnings say why."""

    recorded: Recorded
    warnings: list[str]
    not_taken: int


def import_file(
    path: Path,
    *,
    slot: int | None,
    genesis_hash: str | None,
    now: Callable[[], datetime],
    progress: Progress,
    signatures: Signatures = Signatures.REFUSE,
) -> Imported:
    """Imports all blocks of a file in one transaction. Raises ImportRefused; nothing of the file is
    then in the ledger. `genesis_hash` names its chain; without it a block must link to a stored
    one. `signatures`: what becomes of unsigned blocks. Every attempt is a row of the imports
    table.
    """
    with attempted(path, now=now) as attempt:
        chain = OneChain(genesis_hash)
        known = KnownBlocks()
        with open_block_file(path, slot=slot, blockhash_of=known.blockhash_of) as blocks:

            def report(read: int, size: int) -> None:
                attempt.position = read
                progress(read, size)

            linked = chain.checked(
                _with_progress(blocks, report), has_previous=blocks.format != CAR
            )
            recorded = record_linked(
                linked, chain, blocks, source=path.name, signatures=signatures, now=now
            )
            recorded.present += blocks.known
            imports.finish(
                attempt.entry,
                recorded,
                file_format=blocks.format,
                warnings=blocks.warnings,
                now=now(),
            )
            return Imported(recorded, blocks.warnings, blocks.not_taken)


@dataclass(slots=True)
class Attempt:
    """An import's row, the bytes read of its file, and how many of its blocks stay in the ledger
    if it fails.
    """

    entry: Import
    position: int = 0
    blocks: int = 0


@contextmanager
def attempted(path: Path, *, now: Callable[[], datetime]) -> Iterator[Attempt]:
    """The row of an import, which records its failure too. Raises ImportRefused for a fault of the
    file, its chain or the disk.
    """
    attempt = Attempt(imports.begin(str(path), now=now()))
    try:
        yield attempt
    except (BadBlockFile, BadBlock, BlockConflict, OtherChain, OSError) as error:
        reason = _reason(error, attempt.position)
        imports.fail(attempt.entry, reason, now=now())
        raise ImportRefused(path, reason, blocks=attempt.blocks) from error
    except BaseException as error:  # an interrupt too must not leave the row as running
        imports.fail(attempt.entry, f"stopped: {type(error).__name__}", now=now())
        raise


@transaction.atomic
def record_linked(
    linked: Iterable[SlotRecord],
    chain: OneChain,
    blocks: BlockFile,
    *,
    source: str,
    signatures: Signatures,
    now: Callable[[], datetime],
) -> Recorded:
    """Records blocks of the file, closes the gaps that they fill, and claims the ledger for their
    chain.
    """
    recorded = record_blocks(_with_tips(linked, now()), now=now(), signatures=signatures)
    close_imported(recorded, source=source, now=now())
    chain.is_proved = chain.is_proved or blocks.known > 0
    chain.claim(source=source, now=now())
    return recorded


def _with_tips(records: Iterable[SlotRecord], now: datetime) -> Iterator[SlotRecord]:
    """Yields the same blocks and records their tips."""
    run: list[SlotRecord] = []
    for each in records:
        yield each
        run.append(each)
        if len(run) >= _RUN_BLOCKS:
            record_tips(run, now=now)
            run.clear()
    record_tips(run, now=now)


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


def _with_progress(blocks: BlockFile, progress: Progress) -> Iterator[SlotRecord]:
    for record in blocks:
        yield record
        progress(blocks.position, blocks.size)
