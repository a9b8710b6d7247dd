"""Imports CAR epochs run by run: hundreds of gigabytes are too much for one transaction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path

from chain.blocks import SlotRecord
from chain.signed import Signatures
from chain.units import Slot
from historical.recording.services import imports
from historical.recording.services.recording import Recorded
from ingest.services.imports import Imported, attempted, record_linked
from ingest.services.known_blocks import KnownBlocks, OneChain
from upstream.archives.block_files import CAR, BlockFile, open_block_file
from upstream.archives.errors import BadBlockFile

# Slots committed together: what a kill loses is read again in about a minute.
_RUN_SLOTS = 128


@dataclass(slots=True)
class EpochProgress:
    """Bytes read of the file, its size, and what was recorded so far."""

    position: int
    size: int
    slot: Slot
    recorded: Recorded


Progress = Callable[[EpochProgress], None]


@dataclass(slots=True)
class _WithProgress:
    """The blocks of a file as they are read; calls `progress` after each."""

    blocks: BlockFile
    total: Recorded
    progress: Progress
    slot: Slot = field(default=Slot(0))

    def __iter__(self) -> Iterator[SlotRecord]:
        for record in self.blocks:
            yield record
            self.slot = record.slot
            self.progress(
                EpochProgress(self.blocks.position, self.blocks.size, record.slot, self.total)
            )


def import_epoch(
    path: Path,
    *,
    genesis_hash: str | None,
    now: Callable[[], datetime],
    progress: Progress,
    signatures: Signatures = Signatures.REFUSE,
) -> Imported:
    """Imports the blocks of a CAR file, a run of slots at a time. Blocks that the ledger has are
    skipped, so a second call resumes. `genesis_hash` and `signatures` as in import_file. Raises
    ImportRefused; the runs before the fault are then in the ledger. Every attempt is a row of the
    imports table.
    """
    total = Recorded()
    with attempted(path, now=now) as attempt:
        chain = OneChain(genesis_hash)
        with open_block_file(path, blockhash_of=KnownBlocks().blockhash_of) as blocks:
            if blocks.format != CAR:
                raise BadBlockFile(path, "", f"{blocks.format}, no CAR: use import_blocks")
            records = _WithProgress(blocks, total, progress)
            linked = chain.checked(records, has_previous=False)
            for _number, run in groupby(linked, key=lambda record: record.slot // _RUN_SLOTS):
                recorded = record_linked(
                    run, chain, blocks, source=path.name, signatures=signatures, now=now
                )
                _add(total, recorded)
                attempt.blocks = total.recorded + total.present
                imports.note(attempt.entry, total)
            total.present += blocks.known
            imports.finish(
                attempt.entry, total, file_format=CAR, warnings=blocks.warnings, now=now()
            )
            return Imported(total, blocks.warnings, blocks.not_taken)


def _add(total: Recorded, run: Recorded) -> None:
    total.recorded += run.recorded
    total.present += run.present
    total.transactions += run.transactions
    if run.first_slot is not None and run.last_slot is not None:
        if total.first_slot is None or total.last_slot is None:
            total.first_slot, total.last_slot = run.first_slot, run.last_slot
        total.first_slot = min(run.first_slot, total.first_slot)
        total.last_slot = max(run.last_slot, total.last_slot)
