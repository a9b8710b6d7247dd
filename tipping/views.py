"""The three tip operations over plain GET."""

import logging
from typing import Annotated

from django.conf import settings
from solders.pubkey import Pubkey

from access import capped_buckets
from access.outages import AWAY
from gateway.reading import Asked
from jsonrpc.wire import As
from tipping import calls
from tipping.errors import QuotaExceeded, TipAddressesUnavailable
from tipping.queries import read_fetch_query
from tipping.results import Addresses, NotValid, OneAddress, TipInfo, Valid, base58
from tipping.services import fetching, telling

log = logging.getLogger(__name__)

_QUOTA = "tip_fetches"
_AWAY_SECONDS = 2


def tip_info(asked: Asked) -> TipInfo:
    """Which classes of tip addresses can be fetched now, and your limits. Read it once at the
    start, and again after `ttl_too_long` or `unavailable`. Without a key it spends a token of the
    bucket that all callers without a key share.
    """
    if asked.caller.key_id is None:
        asked.spend(capped_buckets.take(asked.caller, _QUOTA, cap=None, now=asked.now))
    return telling.tip_info(
        asked.caller, max_count=settings.TIP_MAX_COUNT, edge=settings.EDGE_NAME, now=asked.now
    )


def fetch_tip_address(asked: Asked) -> OneAddress | Addresses:
    """Tip addresses that nobody else ever gets: tip one of them in the transactions that you send,
    as many as you like, until it expires. Without any parameter the answer has the older form with
    one address. A fetch takes one token of your bucket, whatever its `count`; one that is refused
    for its parameters takes none.
    """
    query = read_fetch_query(asked.query)
    edge = settings.EDGE_NAME
    try:
        order = fetching.ordered(
            ttl=query.ttl,
            count=query.count,
            max_count=settings.TIP_MAX_COUNT,
            edge=edge,
            now=asked.now,
        )
        cap = asked.caller.tip_fetch_daily_cap
        taken = capped_buckets.take(asked.caller, _QUOTA, cap=cap, now=asked.now)
        asked.spend(taken, QuotaExceeded)
        issued = fetching.fetch(order, edge=edge, key_id=asked.caller.key_id, now=asked.now)
    except TipAddressesUnavailable:
        calls.ask_for_batches()
        raise
    except AWAY as error:
        log.warning("request %s: no tip address: %s", asked.request_id, error)
        raise TipAddressesUnavailable(
            "the service cannot look up its batches just now", retry_seconds=_AWAY_SECONDS
        ) from None
    found = [base58(pubkey) for pubkey in issued.pubkeys]
    if query.is_plain:
        return OneAddress(found[0], order.ttl_seconds, issued.expires_at)
    return Addresses(
        addresses=found,
        ttl_seconds=order.ttl_seconds,
        requested_ttl_seconds=order.requested_ttl_seconds,
        expires_at=issued.expires_at,
        min_lamports=telling.MIN_LAMPORTS,
        issued_by=edge,
    )


def tip_address(asked: Asked, pubkey: Annotated[str, As(Pubkey)]) -> Valid | NotValid:
    """Whether an address may be tipped now. It counts against no limit.

    pubkey: the address
    """
    static = [bytes(each) for each in settings.TIP_ADDRESSES]
    return telling.address_standing(pubkey, static=static, now=asked.now)
