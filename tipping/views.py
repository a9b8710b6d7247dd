"""The three tip operations over plain GET."""

import logging
from typing import Annotated

from django.conf import settings
from rest_framework.response import Response
from solders.pubkey import Pubkey

from access import capped_buckets
from access.buckets import Taken
from access.callers import Caller
from access.outages import AWAY
from gateway.refusals import TooManyRequests
from gateway.throttles import CallerQuota
from gateway.views import EndpointRequest, ReadView
from jsonrpc.wire import As
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
from tipping.services import fetching, telling

log = logging.getLogger(__name__)

_QUOTA = "tip_fetches"
_AWAY_SECONDS = 2


class AnonymousFetches(CallerQuota):
    """A caller without a key takes from the bucket that all of them share."""

    def take(self, request: EndpointRequest, view: ReadView) -> Taken | None:
        if request.user.key_id is not None:
            return None
        return capped_buckets.take(request.user, _QUOTA, cap=None, now=view.now)


class TipInfoView(ReadView):
    name = "tipinfo"
    result = TipInfo
    errors = (TooManyRequests, TipAddressesUnavailable)
    throttle_classes = (AnonymousFetches,)

    def get(self, request: EndpointRequest) -> Response:
        """Which classes of tip addresses can be fetched now, and your limits. Read it once at the
        start, and again after `ttl_too_long` or `unavailable`. Without a key it spends a token of
        the bucket that all callers without a key share.
        """
        return Response(
            telling.tip_info(
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
    throttle_classes = ()  # taken once the parameters are known to be good

    def get(self, request: EndpointRequest) -> Response:
        """Tip addresses that nobody else ever gets: tip one of them in the transactions that you
        send, as many as you like, until it expires. Without any parameter the answer has the older
        form with one address. A fetch takes one token of your bucket, whatever its `count`; one
        that is refused for its parameters takes none.
        """
        caller: Caller = request.user
        query = read_fetch_query(request.META.get("QUERY_STRING", ""))
        edge = settings.EDGE_NAME
        try:
            order = fetching.ordered(
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
            issued = fetching.fetch(order, edge=edge, key_id=key_id, now=self.now)
        except TipAddressesUnavailable:
            calls.ask_for_batches()
            raise
        except AWAY as error:
            log.warning("request %s: no tip address: %s", request.request_id, error)
            raise TipAddressesUnavailable(
                "the service cannot look up its batches just now", retry_seconds=_AWAY_SECONDS
            ) from None
        found = [base58(pubkey) for pubkey in issued.pubkeys]
        if query.is_plain:
            return Response(OneAddress(found[0], order.ttl_seconds, issued.expires_at))
        return Response(
            Addresses(
                addresses=found,
                ttl_seconds=order.ttl_seconds,
                requested_ttl_seconds=order.requested_ttl_seconds,
                expires_at=issued.expires_at,
                min_lamports=telling.MIN_LAMPORTS,
                issued_by=edge,
            )
        )


class TipAddress(ReadView):
    name = "tipaddress"
    result = Valid | NotValid
    errors = (BadTipQuery,)
    throttle_classes = ()

    def get(self, request: EndpointRequest, pubkey: Annotated[str, As(Pubkey)]) -> Response:
        """Whether an address may be tipped now. It counts against no limit.

        pubkey: the address
        """
        static = [bytes(each) for each in settings.TIP_ADDRESSES]
        return Response(telling.address_standing(pubkey, static=static, now=self.now))
