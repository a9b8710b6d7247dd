"""Who may listen to fates: let in when they come, and looked at again while they stay."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from access import buckets, key_cache
from access.callers import Caller
from access.errors import KeyUnknown
from access.key_text import digest_of
from access.redis_client import client
from access.services.keys import identify, identify_by_digest
from gateway.hosts import Host
from gateway.permissions import require
from gateway.refusals import KeyRequired
from gateway.terms import Terms
from gateway.throttles import require_taken, still_known
from jsonrpc.errors import RpcError
from priority.errors import TicketRefused
from priority.services.stream_tickets import digest_in
from priority.store.fates import customers_of

# Under which listening is counted, and stands in a key's list of methods.
USAGE_NAME = "fatesStream"


@dataclass(frozen=True, slots=True, eq=False)
class Guest:
    """A caller whose key may listen, by the key's digest, from this address through this host."""

    digest: bytes
    key_id: int
    customer: int
    host: Host
    address: str


def let_in(
    *, secret: str | None, ticket: str | None, host: Host, address: str, terms: Terms, now: datetime
) -> Guest:
    """The guest who came with a key, or with a ticket that stands for one; costs one request.
    Raises KeyRefused, KeyRequired, a Forbidden and TooManyRequests.
    """
    if secret is not None:
        caller = identify(secret, now=now)
        digest = digest_of(secret)
    elif ticket is not None:
        found = digest_in(ticket)
        if found is None:
            raise TicketRefused
        caller, digest = identify_by_digest(found, now=now), found
    else:
        raise KeyRequired
    require(host, caller, terms, address, USAGE_NAME)
    plan = buckets.plan_of(caller, terms.quota)
    if plan is not None:
        taken = buckets.take(plan)
        if not still_known(taken):
            caller = _looked_at(digest, host, address, terms, now)
        require_taken(taken, 1)
    assert caller.key_id is not None
    customer = customers_of([caller.key_id]).get(caller.key_id)
    if customer is None:
        raise KeyUnknown
    return Guest(digest, caller.key_id, customer, host, address)


def turned_away(
    guests: Iterable[Guest], *, terms: Terms, now: datetime
) -> list[tuple[Guest, RpcError]]:
    """The guests that may not listen any more, and why. Raises redis.RedisError and what the
    database raises.
    """
    generation = cast(bytes | None, client().get(buckets.GENERATION_KEY))
    key_cache.confirm(int(generation or 0))
    found = []
    for guest in guests:
        try:
            _looked_at(guest.digest, guest.host, guest.address, terms, now)
        except RpcError as refusal:
            found.append((guest, refusal))
    return found


def _looked_at(digest: bytes, host: Host, address: str, terms: Terms, now: datetime) -> Caller:
    caller = identify_by_digest(digest, now=now)
    require(host, caller, terms, address, USAGE_NAME)
    return caller
