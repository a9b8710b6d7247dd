"""Who may call: the key of `x-token`, checked as for any other call. For threads."""

import time
from datetime import UTC, datetime

from access import buckets, finished_calls
from access.callers import Caller
from access.key_text import digest_of
from access.services import keys
from gateway.addresses import came_in_clear, client_address
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import EVERY, host_of
from gateway.permissions import require, require_served
from gateway.refusals import HostUnknown, KeyRequired, TlsRequired
from gateway.throttles import refusal_of, still_known
from jsonrpc.errors import RpcError
from subscriptions.members import USAGE_NAME, Member

POLICY = EndpointPolicy("proxy", EVERY, key_required=True)
# Calls are counted under these names: `geyserGetSlot`.
_PREFIX = "geyser"


def admit(headers: dict[str, str], peer: str, name: str) -> tuple[Member, Caller]:
    """Whose call it is; takes one call from its limit and counts it. Raises RpcError, and what the
    database raises.
    """
    started = time.perf_counter()
    address = peer
    key_id: int | None = None
    refusal: RpcError | None = None
    try:
        meta = {
            "REMOTE_ADDR": peer,
            "HTTP_X_FORWARDED_FOR": headers.get("x-forwarded-for"),
            "HTTP_X_FORWARDED_PROTO": headers.get("x-forwarded-proto"),
        }
        address = client_address(meta)
        host = host_of(headers.get(":authority") or headers.get("host", ""))
        if host is None:
            raise HostUnknown
        require_served(host, POLICY, headers.get(":path", ""))
        secret = _secret(headers)
        if not secret:
            raise KeyRequired
        if came_in_clear(meta):
            raise TlsRequired
        now = datetime.now(UTC)
        caller = keys.identify(secret, now=now)
        key_id = caller.key_id
        plan = buckets.plan_of(caller, "requests")
        taken = None if plan is None else buckets.take(plan)
        if not still_known(taken):
            caller = keys.identify(secret, now=now)
        require(host, caller, POLICY, address, USAGE_NAME)
        if taken is not None and not taken.allowed:
            raise refusal_of(taken, 1)
    except RpcError as error:
        refusal = error
        key_id = key_id or getattr(error, "key_id", None)
        raise
    finally:
        spent = int((time.perf_counter() - started) * 1_000_000)
        status = "ok" if refusal is None else refusal.reason
        count(key_id, name, status, address, spent, refusal)
    return Member(digest_of(secret), caller.key_id, host, address, POLICY), caller


def charge(member: Member, caller: Caller, calls: int) -> None:
    """Takes so many calls from the key's limit. Raises RpcError, which it counts."""
    plan = buckets.plan_of(caller, "requests")
    taken = None if plan is None else buckets.take(plan, calls)
    if taken is not None and not taken.allowed:
        refusal = refusal_of(taken, calls)
        count(member.key_id, "Filters", refusal.reason, member.address, refusal=refusal)
        raise refusal


def count(
    key_id: int | None,
    name: str,
    status: str,
    address: str,
    microseconds: int = 0,
    refusal: RpcError | None = None,
) -> None:
    """Counts a call in the usage; one that was not ok is kept for the page of its key."""
    finished_calls.count(
        key_id,
        _PREFIX + name,
        status,
        path="gRPC",
        address=address,
        error=refusal,
        microseconds=microseconds,
    )


def _secret(headers: dict[str, str]) -> str:
    token = headers.get("x-token")
    if token is not None:
        return token.strip()
    text = headers.get("authorization", "").strip()
    return text[7:].strip() if text[:7].lower() == "bearer " else text
