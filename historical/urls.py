"""Path → endpoint and its policy."""

from django.urls import path

from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import LEDGER
from historical.methods import methods

urlpatterns = [
    path(
        "historical",
        RpcEndpoint.as_view(methods=methods, policy=EndpointPolicy("historical", LEDGER)),
    ),
]
