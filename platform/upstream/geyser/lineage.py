"""What messages say of blocks: the parents of slots, and the latest blockhashes."""

from collections.abc import Callable, Collection, Iterator

from chain.encodings import b58decode
from chain.units import Slot
from upstream.geyser.updates import BlockMetaUpdate

# Statuses of any bank, block messages, statuses of the bank that the cluster voted for, a node's
# finalized block.
OF_STATUS, OF_BLOCK, OF_CLUSTER, OF_NODE = range(4)
# A transaction may name one of the last 150 blockhashes; forks make more of them.
_REMEMBERED = 600
_CHARACTERS = 44


class Parents:
    """The parents by slot, by the most reliable message. Of two banks of one slot each may have
    another one, and both may have children: `hash_of` is the blockhash that the final child
    names, "" while none is known.
    """

    def __init__(self) -> None:
        self._known: dict[Slot, tuple[int, Slot]] = {}
        self._hashes: dict[Slot, str] = {}

    def __contains__(self, slot: Slot) -> bool:
        return slot in self._known

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, slot: Slot) -> Slot | None:
        found = self._known.get(slot)
        return None if found is None else found[1]

    def learn(self, slot: Slot, parent: Slot, source: int) -> None:
        """A less reliable source changes nothing."""
        known = self._known.get(slot)
        if known is None or source >= known[0]:
            self._known[slot] = (source, parent)

    def doubt(self) -> None:
        """What follows comes from another connection, and is more reliable."""
        self._known = {slot: (OF_STATUS, parent) for slot, (_, parent) in self._known.items()}

    def forget(self, slot: Slot) -> None:
        self._known.pop(slot, None)

    def keep(self, is_open: Callable[[Slot], bool]) -> None:
        """Forgets the slots that are decided."""
        for slot in [each for each in self._known if not is_open(each)]:
            del self._known[slot]
        for slot in [each for each in self._hashes if not is_open(each)]:
            del self._hashes[slot]

    def hash_of(self, slot: Slot) -> str:
        return self._hashes.get(slot, "")

    def learn_hash(self, slot: Slot, blocks: Collection[BlockMetaUpdate]) -> Slot | None:
        """What the block messages of a final slot say of its parent's; the parent if that is new,
        and the same in all of them.
        """
        named = {(each.parent_slot, each.parent_blockhash) for each in blocks}
        if len(named) != 1:
            return None
        parent, blockhash = named.pop()
        if not blockhash or parent >= slot or self._hashes.get(parent) == blockhash:
            return None
        self.name(parent, blockhash)
        return parent

    def name(self, slot: Slot, blockhash: str) -> None:
        """A final child says which block the slot's is."""
        self._hashes[slot] = blockhash

    def is_certain(self, slot: Slot) -> bool:
        """Whether it is known of the bank that the cluster voted for."""
        return slot in self._known and self._known[slot][0] >= OF_CLUSTER

    def is_of_node(self, slot: Slot) -> bool:
        """Whether a node said it."""
        return slot in self._known and self._known[slot][0] == OF_NODE


class Blockhashes:
    """Those of the latest blocks, which separate blockhashes from the values of nonces; bounded,
    whatever a stream sends.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def __contains__(self, value: bytes) -> bool:
        return value in self._known

    def remember(self, blockhash: str) -> None:
        """Takes a blockhash in base58; what is none is ignored."""
        if len(blockhash) > _CHARACTERS:
            return
        try:
            self._known[b58decode(blockhash)] = None
        except ValueError:
            return
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
