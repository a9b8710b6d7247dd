"""Where a slot is refuted: which accounts are otherwise than the block's own transactions leave
them. What is found leaves the archive as a gap, and comes back with the slot's next record.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from chain.encodings import b58decode
from chain.slot_ranges import SlotRange
from chain.units import Slot
from columns.queries import lift_timeouts
from gaps import life_cycle
from gaps.causes import REFUTED
from gaps.slot_gap import GapStatus
from historical.blocks.services import stored_content
from historical.transactions.services import recorded_transactions
from jsonrpc.errors import RpcError
from rewind.coverage.store import checking
from rewind.coverage.store.checking import Written
from rewind.models import Gap
from rewind.proof.services.second_sources import SecondSource
from rewind.proof.store import locating, proof_queue, proof_runs
from rewind.recording.store import slots as store
from rewind.replay.services import replay

U64 = 2**64


class NotRefuted(ValueError):
    """The cluster's votes do not contradict the slot, or it is not archived."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """An account that the archive has otherwise, and how that shows."""

    pubkey: bytes
    why: str


# By the reason, in words: the transactions, balances or accounts that were not compared.
NotCompared = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Located:
    """Accounts of a refuted slot, each once; how many of its transactions were replayed; what the
    search did not compare, so that a wrong account may hide there; by the name of each other
    source, how many accounts were compared with it; `differing` are those that another source has
    otherwise.
    """

    slot: int
    suspects: list[Suspect]
    replayed: int = 0
    not_compared: NotCompared = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    differing: frozenset[bytes] = frozenset()


class _Search:
    """What a search has found so far."""

    def __init__(self) -> None:
        self.suspects: dict[bytes, str] = {}
        self.not_compared: defaultdict[str, list[str]] = defaultdict(list)
        self.replayed = 0


def refuted_between(first: int, last: int, *, limit: int) -> list[int]:
    """Refuted slots of the range, ascending, at most so many."""
    found: list[int] = []
    while len(found) < limit and (run := proof_runs.refuted_from(first, last)) is not None:
        found += store.archived_between(max(first, run.first), min(last, run.last))
        first = run.last + 1
    return found[:limit]


def locate(slot: int, others: Sequence[SecondSource] = ()) -> Located:
    """Compares what the slot wrote with the balances in its block, with replays of its transactions
    on the state before, and with other sources. Raises NotRefuted, and what these raise.

    A write outside transactions, and one that changed no balance and is in `not_compared`, is
    found in another source alone.
    """
    run = proof_runs.of_slot(slot)
    if run is None or run.state != proof_runs.REFUTED or not store.stored([slot]):
        raise NotRefuted(f"slot {slot} is not refuted")
    search = _Search()
    _by_balances(slot, search)
    _by_replays(slot, search)
    suspects = search.suspects
    compared, shown = {}, set[bytes]()
    for source in others:
        differing, compared[source.name] = source.differing(slot, _touched(slot))
        for pubkey, why in differing.items():
            suspects.setdefault(pubkey, why)
            shown.add(pubkey)
    found = [Suspect(pubkey, why) for pubkey, why in sorted(suspects.items())]
    return Located(
        slot, found, search.replayed, dict(search.not_compared), compared, frozenset(shown)
    )


def _touched(slot: int) -> set[bytes]:
    """The accounts that the archive has writes of in the slot, and those that the transactions of
    its block name.
    """
    found = locating.written_in_slot(slot)
    with suppress(stored_content.Unreadable):
        found |= stored_content.accounts_named(stored_content.transactions_of(slot))
    return found - locating.filtered_among(found)


def _by_balances(slot: int, search: _Search) -> None:
    try:
        entries = stored_content.transactions_of(slot)
    except stored_content.Unreadable as fault:
        search.not_compared[str(fault)].append("balances")
        return
    left_out = locating.filtered_among(stored_content.accounts_named(entries))
    if left_out:
        found = f"{len(left_out)} accounts"
        search.not_compared["a filter keeps them out of the archive"].append(found)
    balances = list(stored_content.changed_balances(entries))
    if not balances:
        return
    if store.is_coarse(slot):
        search.not_compared["the archive may have only last writes"].append("balances")
        return
    writes = [Written(each.pubkey, each.index, each.lamports) for each in balances]
    for each, has in zip(balances, checking.balances_of(slot, writes), strict=True):
        if each.pubkey in left_out:
            continue
        if has is None:
            search.suspects[each.pubkey] = f"its write by transaction {each.index} is missing"
        elif has % U64 != each.lamports:
            search.suspects[each.pubkey] = (
                f"{has % U64} lamports after transaction {each.index}, the block has"
                f" {each.lamports}"
            )


def _by_replays(slot: int, search: _Search) -> None:
    block = recorded_transactions.block_of(slot)
    if block is None:
        search.not_compared["the ledger does not have the block"].append("all transactions")
        return
    for index in range(block.transactions):
        name = f"transaction {index}"
        try:
            recorded = recorded_transactions.recorded_at(slot, index)
        except RpcError as refusal:
            search.not_compared[refusal.reason].append(name)
            continue
        if recorded is None:
            search.not_compared["not_in_ledger"].append(name)
            continue
        name += f" ({recorded.signature})"
        verdict = replay.replay(recorded).verdict
        if verdict.status == "unverified":
            search.not_compared[verdict.reason or verdict.status].append(name)
            continue
        search.replayed += 1
        found = list(_differing_accounts(verdict.differences))
        for pubkey in found:
            why = f"its replay in transaction {index} leaves it otherwise"
            if verdict.reason:
                why += f" ({verdict.reason})"
            search.suspects.setdefault(pubkey, why)
        if verdict.status == "diverged" and not found:
            # What it leaves is then not what the chain's run left.
            fields = ", ".join(each.field for each in verdict.differences)
            search.not_compared[f"the replay differs in {fields}"].append(name)


def _differing_accounts(differences: Iterable[replay.Difference]) -> Iterable[bytes]:
    for each in differences:
        if each.field == "accounts" and isinstance(each.expected, dict):
            yield b58decode(each.expected["pubkey"])


def open_as_gap(found: Located, *, now: datetime) -> bool:
    """The slot is a gap of cause `refuted`, and the rows of these accounts in it leave; where none
    was found, all rows of the slot that are not sealed. False when writers took too long.
    """
    slot = Slot(found.slot)
    with transaction.atomic():
        if not store.lock_window():
            return False
        lift_timeouts()
        proof_queue.wait()
        store.forget([slot])
        locating.drop_writes(slot, [each.pubkey for each in found.suspects])
        life_cycle.lock()
        life_cycle.open_gap(
            Gap, SlotRange(slot, slot), status=GapStatus.MISSING, cause=REFUTED, now=now
        )
    return True
