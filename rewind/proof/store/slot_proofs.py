"""Banks as they follow from the archive, and what of filtered accounts they need."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from columns.queries import all_rows, execute
from columns.raw_queries import fetch_all, fetch_one
from rewind.baselines.models import Baseline
from rewind.proof.accounts import KeptState, packed_state, unpacked
from rewind.proof.banks import Bank
from rewind.proof.models import SlotProof
from rewind.proof.votes import Weighed

State = SlotProof.State
_BANK = "slot, parent_slot, bank_hash, parent_hash, signature_count, blockhash, lattice"


class Placed(NamedTuple):
    """A bank, the chain of banks that it is of, and how it stands."""

    bank: Bank
    start_slot: int
    floor_slot: int
    state: int


class Known(NamedTuple):
    """What recording has to know of a slot with a bank: how it stands, whether its chain of banks
    begins with it, what its block was, and SlotProof.written.
    """

    state: int
    is_start: bool
    parent_slot: int
    blockhash: bytes
    written: bytes | None


class Kept(NamedTuple):
    """A filtered account, and the slot that wrote it last."""

    slot: int
    state: KeptState


def bank(slot: int) -> Placed | None:
    row = fetch_one(
        f"SELECT {_BANK}, start_slot, floor_slot, state FROM rewind_slotproof WHERE slot = $1", slot
    )
    return None if row is None else Placed(Bank(*row[:7]), *row[7:])


def states(slots: Collection[int]) -> dict[int, int]:
    """Of the slots that have a bank, how they stand."""
    rows = fetch_all("SELECT slot, state FROM rewind_slotproof WHERE slot = ANY($1)", list(slots))
    return dict(rows)


def parents_between(first: int, last: int, limit: int) -> list[tuple[int, int]]:
    """(slot, parent slot) of the banks of these slots, lowest first."""
    rows = fetch_all(
        "SELECT slot, parent_slot FROM rewind_slotproof WHERE slot BETWEEN $1 AND $2"
        " ORDER BY slot LIMIT $3",
        first,
        last,
        limit,
    )
    return [(slot, parent) for slot, parent in rows]


def known(slots: Collection[int]) -> dict[int, Known]:
    """Those of the slots that have a bank."""
    rows = fetch_all(
        "SELECT slot, state, slot = start_slot, parent_slot, blockhash, written"
        " FROM rewind_slotproof WHERE slot = ANY($1)",
        list(slots),
    )
    return {slot: Known(*rest) for slot, *rest in rows}


def pending(start_slot: int, last_slot: int) -> list[Bank]:
    """The slot and those below it that no vote settled, oldest first; not those of other forks."""
    rows = fetch_all(
        f"SELECT {_BANK} FROM rewind_slotproof WHERE start_slot = $1 AND state = 0 AND slot <= $2"
        " ORDER BY slot",
        start_slot,
        last_slot,
    )
    found: list[Bank] = []
    wanted = last_slot
    for row in reversed(rows):
        bank = Bank(*row)
        if bank.slot == wanted:
            found.append(bank)
            wanted = bank.parent_slot
    return found[::-1]


def settled_with_rows() -> list[Placed]:
    """Settled ones whose own slot still waits, the newest first: no chain of banks from below has
    come to them.
    """
    columns = ", ".join(f"p.{name}" for name in _BANK.split(", "))
    rows = fetch_all(
        f"SELECT {columns}, p.start_slot, p.floor_slot, p.state FROM rewind_slotwrites AS q JOIN"
        " rewind_slotproof AS p ON p.slot = q.slot WHERE NOT q.is_done AND p.state = 1"
        " ORDER BY q.slot DESC LIMIT 16"
    )
    return [Placed(Bank(*row[:7]), *row[7:]) for row in rows]


def put(made: Bank, *, start_slot: int, floor_slot: int, written: bytes | None) -> None:
    """No vote settled it yet. `written` is SlotProof.written."""
    execute(
        f"INSERT INTO rewind_slotproof ({_BANK}, start_slot, floor_slot, written, state)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0) ON CONFLICT (slot) DO UPDATE SET"
        " parent_slot = excluded.parent_slot, bank_hash = excluded.bank_hash,"
        " parent_hash = excluded.parent_hash, signature_count = excluded.signature_count,"
        " blockhash = excluded.blockhash, lattice = excluded.lattice,"
        " start_slot = excluded.start_slot, floor_slot = excluded.floor_slot,"
        " written = excluded.written, state = 0,"
        " voted_slot = NULL, voted_hash = NULL, voters = NULL, stake = NULL,"
        " total_stake = NULL, first_landed = NULL, last_landed = NULL",
        [*made, start_slot, floor_slot, written],
    )


def keep_written(slot: int, written: bytes) -> None:
    """Of a bank that was known before what its slot wrote."""
    execute("UPDATE rewind_slotproof SET written = %s WHERE slot = %s", [written, slot])


def settle(
    slots: Sequence[int], state: int, voted_slot: int, votes: Weighed | None, total: int | None
) -> None:
    """Votes for the bank of one slot settled these; None: what settled them is no vote."""
    cast: tuple[int | bytes | None, ...] = (None,) * 5
    if votes is not None:
        stake = None if votes.stake is None else _signed(votes.stake)
        cast = (votes.bank_hash, votes.voters, stake, votes.first_landed, votes.last_landed)
    execute(
        "UPDATE rewind_slotproof SET state = %s, voted_slot = %s, voted_hash = %s, voters = %s,"
        " stake = %s, first_landed = %s, last_landed = %s, total_stake = %s"
        " WHERE slot = ANY(%s)",
        [state, voted_slot, *cast, None if total is None else _signed(total), list(slots)],
    )


def settle_as(slots: Sequence[int], *, like: int) -> None:
    """What settled the bank of the slot `like` settled these below it."""
    columns = "state, voted_slot, voted_hash, voters, stake, total_stake, first_landed, last_landed"
    execute(
        f"UPDATE rewind_slotproof SET ({columns}) = (SELECT {columns} FROM rewind_slotproof"
        " WHERE slot = %s) WHERE slot = ANY(%s)",
        [like, list(slots)],
    )


def lowest_of(start_slot: int, first: int, last: int) -> int:
    """The lowest of the slots with a settled bank of the chain; the last one has one."""
    row = fetch_one(
        "SELECT slot FROM rewind_slotproof WHERE slot BETWEEN $1 AND $2 AND start_slot = $3"
        " AND state = 1 ORDER BY slot LIMIT 1",
        first,
        last,
        start_slot,
    )
    return last if row is None else int(row[0])


def settled_baselines() -> list[int]:
    """Slots of proven snapshots whose bank is one that votes settled."""
    rows = fetch_all(
        "SELECT DISTINCT b.slot FROM rewind_baseline AS b JOIN rewind_slotproof AS p"
        " ON p.slot = b.slot AND p.bank_hash = b.bank_hash WHERE b.proven AND p.state = 1"
    )
    return [slot for (slot,) in rows]


def forget_forks(start_slot: int, through: int) -> list[int]:
    """The chain's banks up to the slot that it went on without, once votes settled it: gone."""
    rows = all_rows(
        "DELETE FROM rewind_slotproof WHERE start_slot = %s AND slot <= %s AND state = 0"
        " RETURNING slot",
        [start_slot, through],
    )
    return sorted(slot for (slot,) in rows)


def forget_pending(start_slot: int, above: int) -> list[tuple[int, int]]:
    """(slot, parent slot) of the chain's unsettled banks above the slot, which are gone."""
    rows = all_rows(
        "DELETE FROM rewind_slotproof WHERE start_slot = %s AND slot > %s AND state = 0"
        " RETURNING slot, parent_slot",
        [start_slot, above],
    )
    return sorted(rows)


def next_baseline() -> Baseline | None:
    """The newest proven one with every account, that no chain of banks has, and whose slot has a
    child that waits.
    """
    found = Baseline.objects.filter(
        proven=True, whole=True, lattice__isnull=False, bank_hash__isnull=False
    ).extra(
        where=[
            "NOT EXISTS (SELECT FROM rewind_slotproof p WHERE p.slot = rewind_baseline.slot)",
            "EXISTS (SELECT FROM rewind_slotwrites q WHERE q.parent_slot = rewind_baseline.slot"
            " AND q.slot > q.parent_slot AND NOT q.is_done)",
        ]
    )
    return found.order_by("-slot").first()


def kept_states(start_slot: int, pubkeys: Sequence[bytes]) -> dict[bytes, Kept]:
    """Of filtered accounts, as the chain's newest proven bank has them."""
    rows = fetch_all(
        "SELECT slot, state FROM rewind_neweststate WHERE pubkey = ANY($1) AND start_slot = $2",
        list(pubkeys),
        start_slot,
    )
    found = (Kept(slot, _state(stored)) for slot, stored in rows)
    return {each.state.pubkey: each for each in found}


def keep_states(start_slot: int, states: Iterable[tuple[int, KeptState]]) -> None:
    """(slot, state) of filtered accounts, of each the newest."""
    rows = [(each.pubkey, start_slot, slot, packed_state(each)) for slot, each in states]
    if not rows:
        return
    execute(
        "INSERT INTO rewind_neweststate (pubkey, start_slot, slot, state)"
        " SELECT * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[])"
        " ON CONFLICT (pubkey, start_slot) DO UPDATE"
        " SET slot = excluded.slot, state = excluded.state",
        list(map(list, zip(*sorted(rows), strict=True))),
    )


def oldest_pending() -> tuple[int, int] | None:
    """(slot, its chain's start) of the lowest bank that no vote settled."""
    row = fetch_one(
        "SELECT slot, start_slot FROM rewind_slotproof WHERE state = 0 ORDER BY slot LIMIT 1"
    )
    return None if row is None else (row[0], row[1])


def forget_states_of_chains(ended_below: int) -> None:
    """Filtered accounts of chains that begin below all those with a bank at or above the slot are
    needed no more.
    """
    kept = fetch_one(
        "SELECT coalesce(min(start_slot), $2) FROM rewind_slotproof WHERE slot >= $1",
        ended_below,
        ended_below,
    )
    execute(
        "DELETE FROM rewind_neweststate WHERE start_slot < %s",
        [ended_below if kept is None else kept[0]],
    )


def cut_below(slot: int) -> None:
    """Slots below it left the window."""
    execute("DELETE FROM rewind_slotproof WHERE slot < %s", [slot])


def newest() -> int | None:
    """The highest slot that has a bank."""
    found = fetch_one("SELECT slot FROM rewind_slotproof ORDER BY slot DESC LIMIT 1")
    return None if found is None else int(found[0])


def at_or_below(slot: int, first: int) -> SlotProof | None:
    """The highest bank of these slots, without its sum; the first slot's own, if it is its only one
    below.
    """
    found = SlotProof.objects.filter(slot__lte=slot, slot__gte=first).defer("lattice")
    return found.order_by("-slot").first()


def row(slot: int) -> SlotProof | None:
    return SlotProof.objects.filter(slot=slot).first()


def _signed(number: int) -> int:
    """A u64 as U64Column stores it."""
    return number - 2**64 if number >= 2**63 else number


def _state(stored: bytes) -> KeptState:
    return next(unpacked(stored))
