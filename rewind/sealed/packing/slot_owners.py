"""Which accounts a slot left changed, by their owners: a packed list that a read finds them by."""

from collections.abc import Collection, Iterable
from itertools import chain

import numpy as np

# A pubkey's first bytes find its changes: that the slot's are meant says the change itself.
PREFIX = 4
_U32 = np.dtype("<u4")


def prefix_of(pubkey: bytes) -> int:
    """The pubkey's first bytes as a number."""
    return int.from_bytes(pubkey[:PREFIX])


def packed(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Of (owner's number, prefix): numbers of owners, how many accounts each has, and their
    prefixes, ascending, byte by byte, since the first bytes of sorted numbers pack well.
    """
    ordered = sorted(pairs)
    flat = np.fromiter(chain.from_iterable(ordered), np.int64, 2 * len(ordered))
    owners, counts = np.unique(flat[0::2], return_counts=True)
    prefixes = flat[1::2].astype(">u4").view(np.uint8).reshape(-1, PREFIX)
    head = np.concatenate([[len(owners)], owners, counts]).astype(_U32)
    return head.tobytes() + prefixes.T.tobytes()


def prefixes_of(data: bytes, owners: Collection[int] | None) -> list[int]:
    """The prefixes of the owners' accounts, of all without owners; raises ValueError for what
    `packed` did not make.
    """
    found: list[int] = []
    for owner, prefixes in _groups(data):
        if owners is None or owner in owners:
            found += prefixes.tolist()
    return found


def pairs_of(data: bytes) -> list[tuple[int, int]]:
    """What it was packed of, ascending."""
    return [(owner, prefix) for owner, prefixes in _groups(data) for prefix in prefixes.tolist()]


def _groups(data: bytes) -> list[tuple[int, "np.ndarray[tuple[int], np.dtype[np.uint32]]"]]:
    count = int.from_bytes(data[:4], "little")
    head = np.frombuffer(data, _U32, 2 * count, 4)
    at = 4 + 8 * count
    total = int(head[count:].sum())
    if len(data) != at + PREFIX * total:
        raise ValueError("a list of a slot's accounts that is none")
    planes = np.frombuffer(data, np.uint8, PREFIX * total, at).reshape(PREFIX, total)
    prefixes = np.ascontiguousarray(planes.T).view(">u4").reshape(-1).astype(np.uint32)
    ends = head[count:].cumsum().tolist()
    return [
        (owner, prefixes[begin:end])
        for owner, begin, end in zip(head[:count].tolist(), [0, *ends], ends, strict=False)
    ]
