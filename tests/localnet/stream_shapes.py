"""The shape of a Geyser stream: which fields its messages have, and in which order they come."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from solders.hash import Hash

from upstream.protobuf.geyser_pb2 import SlotStatus

# So deep are fields of messages looked at; what is below is the chain's.
_DEEPEST = 4


@dataclass
class Shape:
    """Of whole slots. Messages are told apart as `account`, `account of a transaction`,
    `transaction`, `vote`, `entry`, `block_meta`, and by the names of slot statuses. `fields` are
    {(message, field): how many have it}; `before` are pairs of messages: in a slot, every
    one of the first came before every one of the second, and `mixed` those where some did not.
    `outside` are writes outside transactions: before or behind the first entry, the account (or
    none, if it is the system program's: the leader's), its owner, size, and rent epoch.
    """

    counts: Counter[str] = field(default_factory=Counter)
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    before: set[tuple[str, str]] = field(default_factory=set)
    mixed: set[tuple[str, str]] = field(default_factory=set)
    outside: Counter[tuple[object, ...]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def steady(self) -> set[tuple[object, ...]]:
        """Writes of `outside` that come in every slot, but for a few: a busy validator may not vote
        in one, and then pays its leader nothing.
        """
        least = 0.9 * self.counts["block_meta"]
        return {each for each, count in self.outside.items() if count >= least}

    @property
    def always(self) -> set[tuple[str, str]]:
        """Fields that every such message has."""
        return {each for each, count in self.fields.items() if count == self.counts[each[0]]}

    @property
    def order(self) -> set[tuple[str, str]]:
        return self.before - self.mixed


def shape_of(updates: Iterable[Any]) -> Shape:
    """Of the slots in the updates from the first bank that was created there to the last one that
    is final.
    """
    shape = Shape()
    slots: dict[int, list[Any]] = defaultdict(list)
    whole: set[int] = set()
    first = None
    for update in updates:
        kind = update.WhichOneof("update_oneof")
        if kind == "ping":
            continue
        slot = getattr(update, kind).slot
        if kind == "slot" and update.slot.status == SlotStatus.SLOT_CREATED_BANK:
            # One before may have sent something already.
            first = slot if first is None else first
        if kind == "slot" and update.slot.status == SlotStatus.SLOT_FINALIZED:
            whole.add(slot)
        slots[slot].append(update)
    for slot in sorted(whole):
        if first is not None and slot > first:
            _add(shape, slots[slot])
    return shape


def _add(shape: Shape, updates: list[Any]) -> None:
    firsts: dict[str, int] = {}
    lasts: dict[str, int] = {}
    place_of_write = "before"
    for place, update in enumerate(updates):
        message = _name_of(update)
        if message == "entry":
            place_of_write = "behind"
        elif message == "account":
            account = update.account.account
            name = account.pubkey if account.owner != bytes(32) else None
            what = account.owner, len(account.data), account.rent_epoch, account.executable
            shape.outside[place_of_write, name, *what] += 1
        shape.counts[message] += 1
        for name in _fields(update):
            shape.fields[message, name] += 1
        firsts.setdefault(message, place)
        lasts[message] = place
    for one in firsts:
        for other in firsts:
            if one != other:
                found = shape.before if lasts[one] < firsts[other] else shape.mixed
                found.add((one, other))
    shape.faults += _faults(updates)


def _name_of(update: Any) -> str:
    kind: str = update.WhichOneof("update_oneof")
    if kind == "slot":
        return SlotStatus.Name(update.slot.status)
    if kind == "account" and update.account.account.HasField("txn_signature"):
        return "account of a transaction"
    if kind == "transaction" and update.transaction.transaction.is_vote:
        return "vote"
    return kind


def _fields(message: Any, at: str = "", depth: int = 0) -> Iterator[str]:
    for descriptor, value in message.ListFields():
        name = f"{at}{descriptor.name}"
        yield name
        if descriptor.message_type is not None and depth < _DEEPEST:
            values = value if descriptor.is_repeated else [value]
            yield from {each for inner in values for each in _fields(inner, f"{name}.", depth + 1)}


def _faults(updates: list[Any]) -> list[str]:
    """What contradicts itself within a slot."""
    found: list[str] = []
    version = indexes = entries = executed = unordered = 0
    waiting: set[bytes] = set()
    last_hash = b""
    for update in updates:
        match update.WhichOneof("update_oneof"):
            case "account":
                account = update.account.account
                unordered += account.write_version <= version
                version = account.write_version
                if account.HasField("txn_signature"):
                    waiting.add(account.txn_signature)
            case "transaction":
                transaction = update.transaction.transaction
                indexes += 1
                waiting.discard(transaction.signature)
            case "entry":
                entry = update.entry
                if (entry.index, entry.starting_transaction_index) != (entries, executed):
                    found.append(f"entry {entry.index} from {entry.starting_transaction_index}")
                entries, executed = entries + 1, executed + entry.executed_transaction_count
                last_hash = entry.hash
            case "block_meta":
                meta = update.block_meta
                if meta.executed_transaction_count != indexes or executed != indexes:
                    found.append(f"{meta.executed_transaction_count} transactions, {indexes} came")
                if meta.blockhash != str(Hash(last_hash)):
                    found.append("the last entry is not there")
                if meta.entries_count not in (0, entries):
                    found.append(f"{meta.entries_count} entries, {entries} came")
    if unordered:
        found.append("write versions do not rise")
    if waiting:
        found.append(f"{len(waiting)} transactions of accounts did not come")
    return found
