"""OpenView, a plain GET for operators: no key, no quota, no tier host."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rest_framework.views import APIView

from gateway.declarations import TypedGet
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.refusals import NotAllowed
from gateway.renderers import JsonRenderer, OneForm
from jsonrpc.errors import RpcError


class OpenView(TypedGet, APIView):
    """Served on the all-in-one host alone, like every page. Nothing of it may be cached."""

    authentication_classes: Sequence[type[Any]] = ()
    permission_classes = ()
    throttle_classes = ()
    renderer_classes = (JsonRenderer,)
    content_negotiation_class = OneForm
    parser_classes = ()
    http_method_names = ["get", "head"]

    # Read by gateway.exception_handler.
    policy = EndpointPolicy("", error_format=ErrorFormat.WORD)
    verb = "GET, HEAD"
    # Of each response, besides Cache-Control.
    own_headers: Mapping[str, str] = {}
    key_id: int | None = None
    refusal: RpcError | None = None

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"Cache-Control": "no-store", **self.own_headers}

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotAllowed(request.method or "", self.verb, preflight=False)
