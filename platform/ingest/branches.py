"""Branches of the chain that it does not go on with: slots that another branch leaves out."""

# Slots of which no one ever decided are forgotten so far below the newest decided one.
_KEPT_SLOTS = 1_000


class Branches:
    """Slots that are seen and not decided yet, by their parents."""

    def __init__(self) -> None:
        self._parents: dict[int, int | None] = {}

    def saw(self, slot: int, parent: int | None) -> None:
        """Something came of the slot; its parent where that is told."""
        if parent is not None or slot not in self._parents:
            self._parents[slot] = parent

    def forget(self, slot: int) -> None:
        """The slot is decided by another word."""
        self._parents.pop(slot, None)

    def decide(self, slot: int) -> list[int]:
        """The chain goes on from this slot: those that were seen and are not among its ancestors,
        as far down as the parents are known, ascending. They are decided with it.
        """
        line = [slot]
        while (parent := self._parents.get(line[-1])) is not None and parent < line[-1]:
            line.append(parent)
        low, ancestors = line[-1], set(line)
        decided = [each for each in self._parents if low <= each <= slot]
        left_out = sorted(set(decided) - ancestors)
        for each in decided:
            del self._parents[each]
        for each in [each for each in self._parents if each < slot - _KEPT_SLOTS]:
            del self._parents[each]
        return left_out
