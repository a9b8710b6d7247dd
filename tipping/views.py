"""The three tip operations as plain GETs."""

import logging
from functools import partial
from typing import Annotated

from django.conf import settings
from rest_framework.response import Response
from solders.pubkey import Pubkey

from access import capped_buckets
from access.callers import Caller
from gateway.refusals import TooManyRequests
from gateway.views import EndpointRequest, ReadView
from jsonrpc.wire import As
from shared_state.outages import AWAY
from tipping import calls
from tipping.errors import (
    BadTipQuery,
    CountOutOfRange,
    QuotaExceeded,
    TipAddressesUnavailable,
    TtlTooLong,
)
from tipping.queries import FETCH, read_fetch_query
from tipping.results import Addresses, NotValid, OneAddress, TipInfo, Valid, base58
from tipping.services import fetching, info

log = logging.getLogger(__name__)

_QUOTA = "tip_fetches"
_AWAY_SECONDS = 2


class TipInfoView(ReadView):
    name = "tipinfo"
    result = TipInfo
    errors = (TooManyRequests, TipAddressesUnavailable)

    is_limited = False

    def get(self, request: EndpointRequest) -> Response:
        """Which classes of tip addresses can be fetched now, and your limits. Read it once at the
        start, and again after `ttl_too_long` or `unavailable`. Without a key it takes a token from
        the bucket shared by all callers without a key.
        """
        if request.user.key_id is None:
            taken = capped_buckets.take(request.user, _QUOTA, cap=None, now=self.now)
            self.spend(taken, partial(TooManyRequests, cost=1))
        return Response(
            info.tip_info(
                request.user,
                max_count=settings.TIP_MAX_COUNT,
                edge=settings.EDGE_NAME,
                now=self.now,
            )
        )


class FetchTipAddress(ReadView):
    name = "fetchtipaddress"
    query = FETCH
    result = OneAddress | Addresses
    errors = (
        TtlTooLong,
        CountOutOfRange,
        BadTipQuery,
        QuotaExceeded,
        TipAddressesUnavailable,
    )
    is_limited = False  # taken once the parameters are known to be valid

    def get(self, request: EndpointRequest) -> Response:
        """Tip addresses that are issued to you only: tip one of them in any number of transactions
        until it expires. Without parameters the response has the older form with one address. A
        fetch takes one token of your bucket for any `count`; a fetch that is refused for its
        parameters takes none.
        """
        caller: Caller = request.user
        query = read_fetch_query(request.META.get("QUERY_STRING", ""))
        edge = settings.EDGE_NAME
        try:
            wanted = fetching.check_request(
                ttl=query.ttl,
                count=query.count,
                max_count=settings.TIP_MAX_COUNT,
                edge=edge,
                now=self.now,
            )
            cap = caller.tip_fetch_daily_cap
            taken = capped_buckets.take(caller, _QUOTA, cap=cap, now=self.now)
            self.spend(taken, QuotaExceeded)
            key_id = request.user.key_id
            issued = fetching.fetch(wanted, edge=edge, key_id=key_id, now=self.now)
        except TipAddressesUnavailable:
            calls.request_batches()
            raise
        except AWAY as error:
            log.warning("request %s: no tip address: %s", request.request_id, error)
            raise TipAddressesUnavailable(
                "the service cannot look up its batches right now", retry_seconds=_AWAY_SECONDS
            ) from None
        found = [base58(pubkey) for pubkey in issued.pubkeys]
        if query.is_plain:
            return Response(OneAddress(found[0], wanted.ttl_seconds, issued.expires_at))
        return Response(
            Addresses(
                addresses=found,
                ttl_seconds=wanted.ttl_seconds,
                requested_ttl_seconds=wanted.requested_ttl_seconds,
                expires_at=issued.expires_at,
                min_lamports=info.MIN_LAMPORTS,
                issued_by=edge,
            )
        )


class TipAddress(ReadView):
    name = "tipaddress"
    result = Valid | NotValid
    errors = (BadTipQuery,)
    is_limited = False

    def get(self, request: EndpointRequest, pubkey: Annotated[str, As(Pubkey)]) -> Response:
        """Whether an address may be tipped now. It counts toward no limit.

        pubkey: the address
        """
        static = [bytes(each) for each in settings.TIP_ADDRESSES]
        return Response(info.address_validity(pubkey, static=static, now=self.now))
