"""X-Request-Id: the client's own if it is valid, else a new one."""

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
    """The client's own, or a new one."""
    return sane_request_id(incoming) or new_request_id()


def sane_request_id(incoming: str | None) -> str | None:
    """The client's own; None without one that can be written into a log."""
    return incoming if incoming and _sane(incoming) else None


def new_request_id() -> str:
    """Unique over processes; no clock, no system call."""
    return f"{_process}-{next(_numbers):x}"
