"""One finished call, of whatever protocol: in the usage, and among the refused calls of its key."""

import time

from access import refused_calls, usage
from jsonrpc.errors import RpcError


def count(
    key_id: int | None,
    method: str,
    outcome: str,
    *,
    path: str,
    address: str,
    error: RpcError | None = None,
    microseconds: int = 0,
    status: int = 0,
    request_id: str = "",
) -> None:
    """Counts the call; one that was not `ok` is kept for the page of its key. `path` is that of the
    URL or the protocol's name, `status` that of the HTTP response (0: not by HTTP).
    """
    now = time.time()
    usage.count(key_id, method, outcome, seconds=now, microseconds=microseconds, address=address)
    if outcome != "ok" and key_id is not None:
        refused_calls.note(
            key_id,
            seconds=now,
            method=method,
            path=path,
            status=status,
            code=None if error is None else error.code,
            reason=outcome,
            message="" if error is None else error.message,
            request_id=request_id,
            address=address,
        )
