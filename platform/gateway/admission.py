"""Every request is admitted or refused here, by whichever protocol it came."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from access import key_cache, key_text
from access.buckets import Taken
from access.callers import Caller
from access.services import keys
from eventloop.faces import complete
from gateway.addresses import came_in_clear, client_address
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host, host_of
from gateway.permissions import require_right, require_served, require_standing
from gateway.quotas import atake, refusal_of
from gateway.refusals import HostUnknown, TlsRequired
from gateway.sent_keys import key_of
from jsonrpc.errors import RpcError

# {quota: tokens}
Costs = Mapping[str, int]
FREE: Costs = {}


def _nothing(_caller: Caller) -> Costs:
    return FREE


@dataclass(slots=True)
class Sender:
    """Who sent a request, as its head says; nothing of it has been looked up.

    `digest` is that of the key, None without one. `secret` is the key's text, None if only the
    digest was kept. `origin` is that of the page whose script sent it; empty without one.
    """

    host: Host
    address: str
    path: str
    digest: bytes | None
    secret: str | None = field(default=None, repr=False)
    origin: str = ""
    # Whose standing was checked last: callers are compared by identity.
    in_standing: Caller | None = field(default=None, repr=False)


def sender_of(meta: dict[str, Any]) -> Sender:
    """The sender, by a WSGI environment. Raises HostUnknown, ForwardedAddressUnreadable and
    TlsRequired.
    """
    host = host_of(meta.get("HTTP_HOST") or meta.get("SERVER_NAME", ""))
    if host is None:
        raise HostUnknown
    address = client_address(meta)
    secret = key_of(meta)
    if secret is None:
        return Sender(host, address, meta["PATH_INFO"], None)
    if came_in_clear(meta):
        raise TlsRequired
    origin = meta.get("HTTP_ORIGIN", "")
    return Sender(host, address, meta["PATH_INFO"], key_text.digest_of(secret), secret, origin)


@dataclass(slots=True)
class Entry:
    """One request at the entrance. `terms` returns what the request takes from each limit of the
    caller, or raises the refusal of one that may not make it.

    `caller` and `taken` are what has been found of it, also if it is refused; it `began` before
    (monotonic).
    """

    sender: Sender
    policy: EndpointPolicy
    terms: Callable[[Caller], Costs]
    caller: Caller | None = None
    taken: Taken | None = None
    began: float = field(default_factory=time.monotonic)

    def close(self) -> None:
        """Ends the admission: a view and its entry refer to each other until then, and would wait
        for the garbage collector.
        """
        self.terms = _nothing

    def key_id(self, refusal: Exception | None = None) -> int | None:
        """The caller's key, or that of a refused one if it is known."""
        if self.caller is not None:
            return self.caller.key_id
        return getattr(refusal, "key_id", None)


def entry_for(sender: Sender, policy: EndpointPolicy, name: str, costs: Costs = FREE) -> Entry:
    """The entry of an operation that is counted under this name."""

    def terms(caller: Caller) -> Costs:
        require_right(policy, name, caller)
        return costs

    return Entry(sender, policy, terms)


async def aadmit(entry: Entry, *, now: datetime) -> Caller:
    """The caller, who may make the request and has paid for it: host, key, standing, rights, then
    limits. Raises KeyRefused, a Refusal, and what the database raises.
    """
    sender = entry.sender
    if sender.in_standing is None:
        require_served(sender.host, entry.policy, sender.path)
    if sender.digest is None:
        caller = await keys.aanonymous()
    else:
        caller = await keys.aidentify(sender.digest, sender.secret, now=now)
    entry.caller = caller
    if caller is not sender.in_standing:
        require_standing(sender.host, caller, entry.policy, sender.address, sender.origin)
        sender.in_standing = caller
    costs = entry.terms(caller)
    if costs and entry.taken is None:
        entry.taken, cost = await atake(caller, costs, sender.address)
        taken = entry.taken
        if taken is not None and (taken.generation is not None or not taken.allowed):
            caller = await aspend(entry, taken, partial(refusal_of, cost=cost), now=now)
    return caller


def admit(entry: Entry, *, now: datetime) -> Caller:
    """The same, in a thread."""
    return complete(aadmit(entry, now=now))


async def aspend(
    entry: Entry, taken: Taken, refusal: Callable[[Taken], RpcError], *, now: datetime
) -> Caller:
    """Records what was taken from the limits of an admitted caller, and admits it again if keys
    changed meanwhile. Raises as `aadmit`, and the refusal if nothing was granted.
    """
    entry.taken = taken
    caller = entry.caller
    generation, asked_at = taken.generation, entry.began
    if caller is None or (generation is not None and not key_cache.confirm(generation, asked_at)):
        caller = await aadmit(entry, now=now)  # which takes nothing more
    if not taken.allowed:
        raise refusal(taken)
    return caller
