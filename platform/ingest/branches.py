"""Branches: finds slots that are left out by the branch that was confirmed."""

# Undecided slots are forgotten this far below the newest decided one.
_KEPT_SLOTS = 1_000


class Branches:
    """Seen slots that are undecided, with their parents."""

    def __init__(self) -> None:
        self._parents: dict[int, int | None] = {}

    def saw(self, slot: int, parent: int | None) -> None:
        """The slot was seen; `parent` where it is known."""
        if parent is not None or slot not in self._parents:
            self._parents[slot] = parent

    def forget(self, slot: int) -> None:
        """The slot is decided otherwise."""
        self._parents.pop(slot, None)

    def decide(self, slot: int) -> list[int]:
        """The slot is confirmed: returns the seen slots that are not its ancestors, as far down as
        parents are known, ascending. All of these are then decided.
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
