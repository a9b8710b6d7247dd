"""X-Request-Id: the client's own where it is sane, else a cheap one of ours."""

import itertools
import os
import re

_sane = re.compile(r"[A-Za-z0-9._:+/=-]{1,64}").fullmatch
_process = os.urandom(6).hex()
_numbers = itertools.count(1)


def _after_fork() -> None:
    global _process
    _process = os.urandom(6).hex()


os.register_at_fork(after_in_child=_after_fork)


def request_id(incoming: str | None) -> str:
    """Unique over processes; no clock, no system call."""
    if incoming and _sane(incoming):
        return incoming
    return f"{_process}-{next(_numbers):x}"
