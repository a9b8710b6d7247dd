"""Path → endpoint and its terms."""

from django.urls import path

from gateway.endpoint import RpcEndpoint, Terms
from gateway.hosts import LEDGER
from historical.methods import methods

urlpatterns = [
    path("historical", RpcEndpoint.as_view(methods=methods, terms=Terms("historical", LEDGER))),
]
