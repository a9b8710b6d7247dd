"""What the garbage collector need not walk over: long jobs, and what a program loaded."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def keep_loaded() -> None:
    """Once a program is loaded, and before it forks: what is there now is never collected. Each
    full collection would walk over a quarter of a million objects, and a process forked from this
    one would have a copy of every page that it marks.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def without_collector() -> Iterator[None]:
    """For jobs that hold a hundred thousand objects without a cycle: the collector would walk over
    them again and again, two fifths of the time of storing slots, a fourth of that of sealing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
