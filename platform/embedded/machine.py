"""How much of the machine the embedded servers may take."""

from pathlib import Path

import psutil

_MIB = 1024 * 1024


def memory_bytes() -> int:
    """The machine's memory, or the container's limit where that is less."""
    total: int = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text()))
        except (OSError, ValueError):
            continue
    return total


def a_quarter_of_memory_mib() -> int:
    """A server's share: a quarter, since the other server and the service want theirs."""
    return max(32, min(1024, memory_bytes() // 4 // _MIB))
