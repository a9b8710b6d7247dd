"""How long requests to an object store take at most, and how often they are tried again."""

from datetime import timedelta
from typing import Any

# A refused or broken connection and a 5xx are tried again so often, within the time limit.
_RETRIES = 2
_CONNECT_SECONDS = 5


def request_terms(seconds: int, **client_options: str | bool) -> dict[str, Any]:
    """Arguments for obstore's `from_url`: a request gives up after so many seconds."""
    timeout = timedelta(seconds=seconds)
    return {
        "client_options": {
            **client_options,
            "timeout": timeout,
            "connect_timeout": min(timeout, timedelta(seconds=_CONNECT_SECONDS)),
        },
        "retry_config": {
            "max_retries": _RETRIES,
            "retry_timeout": timeout,
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=1),
                "base": 2,
            },
        },
    }
