"""Path → operation and its terms."""

from django.urls import path

from gateway.hosts import LANDING
from gateway.reading import get_endpoint
from gateway.refusals import TooManyRequests
from gateway.terms import Face, Terms
from tipping import views
from tipping.errors import (
    BadTipQuery,
    CountOutOfRange,
    QuotaExceeded,
    TipAddressesUnavailable,
    TtlTooLong,
)
from tipping.queries import FETCH

_TERMS = Terms("priority", LANDING, face=Face.WORD)

urlpatterns = [
    path(
        "priority/tipinfo",
        get_endpoint("tipinfo", views.tip_info, _TERMS, errors=(TooManyRequests,)),
    ),
    path(
        "priority/fetchtipaddress",
        get_endpoint(
            "fetchtipaddress",
            views.fetch_tip_address,
            _TERMS,
            query=FETCH,
            errors=(
                TtlTooLong,
                CountOutOfRange,
                BadTipQuery,
                QuotaExceeded,
                TipAddressesUnavailable,
            ),
        ),
    ),
    path(
        "priority/tipaddress/<str:pubkey>",
        get_endpoint("tipaddress", views.tip_address, _TERMS, errors=(BadTipQuery,)),
    ),
]
