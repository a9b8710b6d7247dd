"""Who may call: the key of `x-token`, checked as for any other call. For threads."""

import time
from datetime import UTC, datetime

from access import usage
from access.callers import Caller
from eventloop.faces import complete
from gateway import admission
from gateway.admission import Entry, entry_for, sender_of
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import EVERY
from gateway.open_streams import Member, member_of
from gateway.quotas import atake, refusal_of
from jsonrpc.errors import RpcError
from subscriptions.members import USAGE_NAME

POLICY = EndpointPolicy("proxy", EVERY, key_required=True)
# Calls are counted under these names: `geyserGetSlot`.
_PREFIX = "geyser"


def admit(headers: dict[str, str], peer: str, name: str) -> tuple[Member, Caller]:
    """Whose call it is; takes one call from its limit and counts it. Raises RpcError, and what the
    database raises.
    """
    started = time.perf_counter()
    entry: Entry | None = None

    def counted(status: str, refusal: RpcError | None) -> None:
        key_id = getattr(refusal, "key_id", None) if entry is None else entry.key_id(refusal)
        address = peer if entry is None else entry.sender.address
        spent = int((time.perf_counter() - started) * 1_000_000)
        count(key_id, name, status, address, spent, refusal)

    try:
        sender = sender_of(_environ(headers, peer))
        entry = entry_for(sender, POLICY, USAGE_NAME, {POLICY.quota: 1})
        caller = admission.admit(entry, now=datetime.now(UTC))
    except RpcError as refusal:
        counted(refusal.reason, refusal)
        raise
    counted("ok", None)
    return member_of(caller, sender, POLICY), caller


def charge(member: Member, caller: Caller, calls: int) -> None:
    """Takes so many calls from the key's limit. Raises RpcError, which it counts."""
    taken, _ = complete(atake(caller, {POLICY.quota: calls}, member.address))
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
    usage.count_finished(
        key_id,
        _PREFIX + name,
        status,
        path="gRPC",
        address=address,
        error=refusal,
        microseconds=microseconds,
    )


def _environ(headers: dict[str, str], peer: str) -> dict[str, str]:
    """What a WSGI environment would have of the call's head."""
    found = {
        "REMOTE_ADDR": peer,
        "PATH_INFO": headers.get(":path", ""),
        "HTTP_HOST": headers.get(":authority") or headers.get("host", ""),
    }
    for name in ("x-forwarded-for", "x-forwarded-proto"):
        if name in headers:
            found[f"HTTP_{name.upper().replace('-', '_')}"] = headers[name]
    secret = headers.get("x-token", headers.get("authorization", ""))
    if secret.strip():
        found["HTTP_AUTHORIZATION"] = secret
    return found
