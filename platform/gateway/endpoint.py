"""RpcEndpoint: one path of JSON-RPC methods, from the HTTP request to the answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from rest_framework.views import APIView

from gateway.hosts import Host
from gateway.terms import Terms
from jsonrpc.methods import MethodTable

__all__ = ["Call", "RpcEndpoint", "Terms"]


@dataclass(frozen=True, slots=True)
class Call:
    """What a method may know of the request: the first argument of every RPC method.

    `caller` is an access.callers.Caller, `address` the client's address as text.
    """

    caller: Any
    host: Host
    now: datetime
    request_id: str
    address: str


class RpcEndpoint(APIView):
    """`RpcEndpoint.as_view(methods=…, terms=Terms(scope=…))` in an area's urls."""

    methods: MethodTable = MethodTable()
    terms: Terms = Terms(scope="")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        raise NotImplementedError  # replaced within the hour: the signatures above are final
