"""Merges runs of the index into larger ones: a look-up asks each run that may have its entry."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from historical.sealed.packed_index import INDEXES, Index, SignatureIndex, place_of
from historical.sealed.services.index_packing import IndexMismatch, write_blocks
from historical.sealed.store import index_runs, sealing
from historical.sealed.store.index_runs import LIVE, MERGED, MERGING, RunRow
from historical.sealed.store.sealing import RangeRow

# So many runs of a level are merged into one of the next.
FAN_IN = 16
# Blocks read in a step, of all inputs together.
_BLOCKS_AT_ONCE = 512


def merge_step() -> str | None:
    """Goes on with a merge, or begins one where a level has many runs; what was done, None if there
    is none. Raises IndexMismatch.
    """
    runs = index_runs.runs()
    for run in runs:
        if run.state == MERGING:
            return _go_on(run, {each.id: each for each in runs})
    levels: defaultdict[tuple[int, int, int], list[RunRow]] = defaultdict(list)
    for run in runs:
        if run.state == LIVE:
            levels[run.sealed_range, run.kind, run.level].append(run)
    for inputs in levels.values():
        if len(inputs) >= FAN_IN:
            return _begin(inputs)
    return None


def finish_step(ranges: Sequence[RangeRow], now: datetime) -> str | None:
    """For ranges that are packed whole: merges all their runs once. What was done, None if
    all are finished.
    """
    for sealed_range in ranges:
        if sealed_range.is_finished or sealed_range.unindexed:
            continue
        runs = [run for run in index_runs.runs(sealed_range.id) if run.state == LIVE]
        for kind in INDEXES:
            inputs = [run for run in runs if run.kind == kind]
            if len(inputs) > 1:
                return _begin(inputs)
        if sealing.summarize_entries(sealed_range.id):
            return "made a part of the index of address entries again"
        sealing.finish(sealed_range.id, now)
        return f"finished range {sealed_range.first_slot} to {sealed_range.last_slot}"
    return None


def _begin(inputs: Sequence[RunRow]) -> str:
    run = RunRow(
        id=0,
        sealed_range=inputs[0].sealed_range,
        kind=inputs[0].kind,
        level=max(each.level for each in inputs) + 1,
        state=MERGING,
        first_slot=min(each.first_slot for each in inputs),
        last_slot=max(each.last_slot for each in inputs),
        inputs=[each.id for each in inputs],
    )
    number = index_runs.insert(run)
    return f"began to merge {len(inputs)} runs into run {number}"


def _go_on(run: RunRow, runs: dict[int, RunRow]) -> str:
    """Merges the next entries, in the order of their keys."""
    index = INDEXES[run.kind]
    inputs = [runs[number] for number in run.inputs]
    limit = max(4, _BLOCKS_AT_ONCE // len(inputs))
    found: list[tuple[RunRow, list[bytes]]] = []
    bound: bytes | None = None
    for each in inputs:
        blocks = index_runs.blocks_from(each.id, run.reached, limit)
        entries = [entry for block in blocks for entry in index.unpack(block)]
        found.append((each, entries))
        if len(blocks) == limit:
            end = _end(index, entries)
            bound = end if bound is None else min(bound, end)
    merged: set[bytes] = set()
    read = 0
    for each, entries in found:
        for entry in entries:
            if entry > run.reached and (bound is None or entry <= bound):
                read += 1
                if each.counts(place_of(entry)[0]):
                    merged.add(entry)
    write_blocks(run.id, index, sorted(merged))
    index_runs.note_progress(
        run.id,
        entries=len(merged),
        dropped=read - len(merged),
        reached=run.reached if bound is None else bound,
    )
    if bound is not None:
        return f"merged {len(merged)} entries into run {run.id}"
    total = run.entries + run.dropped + read
    if total != sum(each.entries for each in inputs):
        raise IndexMismatch(f"run {run.id} has {total} entries of its inputs, not all")
    index_runs.set_state(run.inputs, MERGED)
    index_runs.set_state([run.id], LIVE)
    sealing.moved()
    return f"merged {len(inputs)} runs into run {run.id}"


def _end(index: type[Index], entries: Sequence[bytes]) -> bytes:
    """Up to here all entries of the input were read. Those of one signature's key belong into one
    block: the last ones wait.
    """
    last = entries[-1]
    return last[: index.key_bytes] if index is SignatureIndex else last
