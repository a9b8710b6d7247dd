"""Locks of running imports, each held by a connection of its own."""

from columns.held_locks import HeldLock

# The first half of the lock's name, so that nobody else's numbers meet ours.
_IMPORTS = 7_301

_held: dict[int, HeldLock] = {}


def take(number: int) -> bool:
    """False when another import holds it, of this process or any other."""
    if number in _held:
        return False
    lock = HeldLock(_IMPORTS, number % 2**31)
    if lock.take():
        _held[number] = lock
    return number in _held


def drop(number: int) -> None:
    lock = _held.pop(number, None)
    if lock is not None:
        lock.let_go()
