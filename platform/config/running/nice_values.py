"""How the Procfile's processes share cores that are all busy: by nice values.

The chain is read before more is sent to it: a follower that gets no core hears of nothing that
landed, and what is not heard to land is sent again. Only values above this process's own need no
privilege, so the servers, localnet and the follower have that, and the others more.
"""

import contextlib
import os
from pathlib import Path

NICE_VALUES = {
    "web": 1,
    "grpc": 1,
    "ingest": 3,
    "lander": 3,
    "beat": 3,
    "worker": 7,
    "simulations": 10,
}


# Processes that have theirs.
_set: set[int] = set()


def set_nice_value(name: str, pid: int) -> None:
    """Sets it once for a program that began a session, for what it started and for what it will. To
    be called again while it runs.
    """
    nice = NICE_VALUES.get(name, 0)
    if not nice or pid in _set:
        return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, os.getpriority(os.PRIO_PROCESS, 0) + nice)
    try:
        # Where Linux shares cores among sessions first, this is the session's own value.
        Path(f"/proc/{pid}/autogroup").write_text(str(nice), encoding="ascii")
    except BlockingIOError:
        return  # without privilege one in a tenth of a second is possible: the next time
    except OSError:
        pass
    _set.add(pid)
