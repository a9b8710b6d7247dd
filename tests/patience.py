"""How long a test waits for what must come."""

import time
from collections.abc import Callable
from typing import Any

# Nothing is asserted of the time: it only ends a test that would hang, on the busiest machine.
PATIENCE_SECONDS = 300.0


def wait(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives, as soon as it gives something true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.02)
    return found
