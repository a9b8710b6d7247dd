"""The forms that an archive's rows may lie in: each reads as the others."""

from enum import Enum

from tests.rewind.conftest import NOW

# Beyond every slot of a test: a partition counts as finished though it holds the newest slot.
_FAR = -1_000_000


class Form(Enum):
    """Rows alone; all sealed; what ends below the newest slot sealed; all sealed and then written
    to again.
    """

    HOT = 0
    SEALED = 1
    HALF = 2
    LATE = 3


def seal(*, half: bool = False, late_share: float = 1.0) -> int:
    """Seals and merges all there is, or what lies below the newest slot's partition; in how many
    steps.
    """
    from rewind.services.sealing import Policy, seal_step

    policy = Policy(margin=0 if half else _FAR, late_share=late_share)
    steps = 0
    while seal_step(policy, now=NOW):
        steps += 1
    return steps
