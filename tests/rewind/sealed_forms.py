"""The forms that an archive's rows may lie in: each reads as the others."""

import tempfile
from datetime import timedelta
from enum import Enum
from functools import cache

from tests.rewind.conftest import NOW

# Beyond every slot of a test: a partition counts as finished though it holds the newest slot.
_FAR = -1_000_000


class Form(Enum):
    """Rows alone; all sealed; what ends below the newest slot sealed; all sealed and then written
    to again; all sealed and moved to the store.
    """

    HOT = 0
    SEALED = 1
    HALF = 2
    LATE = 3
    COLD = 4


def seal(*, half: bool = False, late_share: float = 1.0) -> int:
    """Seals and merges all there is, or what lies below the newest slot's partition; in how many
    steps.
    """
    from rewind.sealed.services.sealing import Policy, seal_step

    policy = Policy(margin=0 if half else _FAR, late_share=late_share)
    steps = 0
    while seal_step(policy, now=NOW):
        steps += 1
    return steps


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="tidemark-cold-")


def use_folder(folder: str | None = None) -> str:
    """The store is this folder, or one of this process's own; its path."""
    from rewind.sealed.store import cold_blocks, cold_store

    folder = folder or _folder().name
    cold_store.configure(cold_store.Terms(f"file://{folder}"))
    cold_blocks.forget()
    return folder


def move(*, grace: timedelta = timedelta(0)) -> int:
    """Moves all there is to the store that is in use, and forgets what was decoded; in how many
    steps.
    """
    from rewind.sealed.services.moving import Policy, move_step
    from rewind.sealed.store import open_blocks

    steps = 0
    while move_step(Policy(after=_FAR), now=NOW, grace=grace):
        steps += 1
    open_blocks.forget()
    return steps
