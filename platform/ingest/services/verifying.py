"""Checks the consistency of stored slots, without changes."""

from collections.abc import Iterator

from chain.slot_ranges import SlotRange
from chain.units import Slot
from columns.slot_cells import RUN_SLOTS
from historical.blocks.services.stored_content import changed_balances, differing
from historical.coverage.services import checking as ledger_checking
from historical.coverage.services.checking import Fault
from historical.coverage.store import checking as ledger_store
from historical.errors import BadBlock as BadLedgerBlock
from ingest.services.order_steps import Step, StepOptions
from rewind.coverage.services import checking as archive_checking
from rewind.coverage.store import checking as archive_store
from upstream.node import BadBlock, Node, SlotNotAvailable

_STEP_SLOTS = 100
_STEP_SLOTS_WITH_NODE = 16


def verify_step(options: StepOptions, first: int, node: Node | None) -> Step:
    """Verifies the next slots of the order. Raises NodeError where a node is the source."""
    size = _STEP_SLOTS if node is None else _STEP_SLOTS_WITH_NODE
    window = SlotRange(first, min(first + size - 1, options.last_slot))
    step = Step(window.last + 1)
    if first == options.first_slot:
        _check_counts(SlotRange(options.first_slot, options.last_slot), options, step)
    headers = ledger_store.headers_between(*window)
    archived = {each.slot: each for each in archive_store.archived_between(*window)}
    if options.ledger:
        step.ledger_faults += ledger_checking.check_links(window)
        step.ledger_faults += ledger_checking.check_index(window)
    for header in headers:
        entries, fault = ledger_checking.read_transactions(header.slot)
        if options.ledger:
            step.transactions += len(entries)
            step.ledger_faults += (
                [fault]
                if fault is not None
                else ledger_checking.check_transactions(
                    header.slot, entries, header.transaction_count
                )
            )
        if options.archive and header.slot in archived:
            balances = list(changed_balances(entries))
            step.archive_faults += archive_checking.check_writes(archived[header.slot], balances)
    if options.archive:
        step.archive_faults += archive_checking.check_slots(window, headers)
        step.archive_faults += archive_checking.check_counts(window)
    if node is not None:
        step.ledger_faults += _compare(node, window, {header.slot for header in headers})
    verified = {header.slot for header in headers} if options.ledger else set()
    step.count_sound([*verified, *(archived if options.archive else ())])
    return step


def _check_counts(window: SlotRange, options: StepOptions, step: Step) -> None:
    if options.ledger:
        runs = ledger_store.wrong_counts(*window)
        step.ledger_faults += [Fault(run * RUN_SLOTS, "ledger_tally") for run in runs]
    if options.archive:
        runs = archive_store.wrong_counts(*window)
        step.archive_faults += [Fault(run * RUN_SLOTS, "archive_tally") for run in runs]


def _compare(node: Node, window: SlotRange, stored: set[int]) -> Iterator[Fault]:
    """Differences from the node's blocks of the window, as far as the node has them."""
    low = max(window.first, node.first_available_block())
    high = min(window.last, node.slot("finalized"))
    if low > high:
        return
    listed = set(node.blocks(Slot(low), Slot(high)))
    for slot in range(low, high + 1):
        if slot not in stored:
            if slot in listed:
                yield Fault(slot, "node_has_it", node.name)
        elif slot not in listed:
            yield Fault(slot, "node_has_none", node.name)
        else:
            yield from _compare_block(node, slot)


def _compare_block(node: Node, slot: int) -> Iterator[Fault]:
    try:
        record = node.block(Slot(slot))
    except (SlotNotAvailable, BadBlock) as error:
        yield Fault(slot, "source_lacks", str(error)[:300])
        return
    try:
        parts = differing(record, with_additions=False)
    except BadLedgerBlock as error:
        yield Fault(slot, "refused", str(error)[:300])
        return
    if parts:
        yield Fault(slot, "node_differs", f"{', '.join(parts)}, by {node.name}")
