"""Logs slow and failed calls."""

import logging

from jsonrpc.errors import InternalError

log = logging.getLogger(__name__)


def note(method: str, status: str, seconds: float, *, key_id: int | None, request_id: str) -> None:
    """Logs a call that was slow or failed. `method` is a known one, `unknown` or `none`."""
    milliseconds = seconds * 1e3
    failed = status == InternalError.reason
    log.warning(
        "request %s: %s of key %s %s after %.0f ms",
        request_id,
        method,
        key_id,
        "failed" if failed else f"was slow ({status})",
        milliseconds,
        extra={
            "request_id": request_id,
            "key_id": key_id,
            "method": method,
            "status": status,
            "milliseconds": round(milliseconds, 1),
        },
    )
