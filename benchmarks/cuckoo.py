"""Cuckoo filters: what a filter of 100,000 addresses costs for each account write of a slot."""

import random
import time
from collections.abc import Callable, Iterable

from chain.units import Slot
from livefeed.messages import Kind, Level, Want
from livefeed.parts import Part
from livefeed.wanted import Wanted
from tests.cuckoo_filters import cuckoo_filter
from upstream.geyser.cuckoo import CuckooFilter, HashedKeys
from upstream.geyser.updates import AccountUpdate

_ADDRESSES = 100_000
_TIMES = 50


def main() -> None:
    chance = random.Random(1)
    asked = cuckoo_filter(chance.randbytes(32) for _ in range(_ADDRESSES))
    print(f"a filter of {_ADDRESSES:,} addresses: {len(asked.data):,} bytes")
    print(f"read in {_best(lambda: CuckooFilter.read(asked)) * 1e6:.0f} µs")
    found = CuckooFilter.read(asked)
    for count in (1, 100, 1_000, 5_000):
        _report(found, [chance.randbytes(32) for _ in range(count)])


def _report(found: CuckooFilter, keys: list[bytes]) -> None:
    hashed = HashedKeys(keys, found.seed)
    part = Part()
    for number, key in enumerate(keys):
        part.put_account(AccountUpdate(Slot(7), key, number, b"", b""))
    filters = [found, CuckooFilter(found.packed[:-1] + b"\1")]
    takes = {
        "hashed": lambda: HashedKeys(keys, found.seed),
        "looked up": lambda: list(found.among(hashed)),
        "picked by the follower for no filter": _picking(part, []),
        "for one": _picking(part, filters[:1]),
        "for two": _picking(part, filters),
    }
    shown = (f"{what} {_best(work) / len(keys) * 1e6:.3f}" for what, work in takes.items())
    print(f"of {len(keys):,} writes, µs each: {', '.join(shown)}")


def _picking(part: Part, filters: Iterable[CuckooFilter]) -> Callable[[], object]:
    wanted = Wanted()
    wanted.add("a process", [Want(Kind.HEADER)])
    for each in filters:
        wanted.add("a process", [Want(Kind.ACCOUNTS_WITHIN, Level.PROCESSED, each.packed)])
    return lambda: wanted.of_slot(part, Level.PROCESSED)


def _best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds: others use the machine, too."""
    times = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    main()
