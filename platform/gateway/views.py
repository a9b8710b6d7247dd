"""Endpoint, the DRF view of everything that a customer calls, and ReadView, a plain GET."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, NoReturn

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from access.buckets import Taken
from access.callers import Caller
from gateway.answers import Answer, add_common_headers
from gateway.authentication import ApiKeyAuthentication
from gateway.calls import count_call
from gateway.compression import MINIMUM, compress
from gateway.declarations import TypedGet
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host
from gateway.permissions import KeyHasRights, KeyInGoodStanding, ServedByHost, right_missing
from gateway.refusals import NotAllowed, TooManyRequests
from gateway.renderers import JsonRenderer
from gateway.throttles import CallerQuota, still_known, take
from jsonrpc.errors import RpcError
from webserver.upgrades import Upgrade


class EndpointRequest(Request):
    """DRF's request with the gateway's attributes: `user` is the Caller, `host` the request's Host,
    `client_address` the client's address as text.
    """

    host: Host
    request_id: str
    client_address: str

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        # Read most often; DRF would look up each in Django's request after an AttributeError.
        self.META = request.META
        self.method = request.method

    # DRF's own identifies the caller on first access; here that has been done before.
    user = property(attrgetter("caller"), lambda self, caller: setattr(self, "caller", caller))


class Endpoint(APIView):
    """An operation that customers call; `policy` has its requirements of hosts, keys and quotas.

    The classes below are DRF's own lists; every endpoint runs them in this order: `host_classes`
    before the caller is identified, then authentication, permissions and throttles.
    """

    policy: EndpointPolicy = EndpointPolicy(scope="")
    verb: ClassVar[str] = "GET"
    # The name under which calls are counted.
    name: str = ""
    host_classes: ClassVar[Sequence[type[Any]]] = (ServedByHost,)
    authentication_classes: Sequence[type[Any]] = (ApiKeyAuthentication,)
    permission_classes: Sequence[type[Any]] = (KeyInGoodStanding, KeyHasRights)
    throttle_classes: Sequence[type[BaseThrottle]] = (CallerQuota,)
    renderer_classes = (JsonRenderer,)
    parser_classes = ()

    now: datetime
    taken: Taken | None = None
    refusal: RpcError | None = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view: Any = super().as_view(**initkwargs)
        # gateway.middleware recognizes an endpoint by its policy.
        view.policy = initkwargs.get("policy", cls.policy)
        view.verb = cls.verb
        return view

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}

    # DRF makes new ones for each request; ours have no state.
    def get_authenticators(self) -> Any:
        return _instances(tuple(self.authentication_classes))

    def get_permissions(self) -> Any:
        return _instances(tuple(self.permission_classes))

    def get_throttles(self) -> Any:
        return _instances(tuple(self.throttle_classes))

    def get_host_checks(self) -> Any:
        return _instances(tuple(self.host_classes))

    def check_host(self, request: Any) -> None:
        """Raises the refusal of the host's checks."""
        for check in self.get_host_checks():
            check.has_permission(request, self)

    def check_caller(self, request: Any) -> None:
        """Identifies the caller (again, if keys have changed) and checks the permissions."""
        for authenticator in self.get_authenticators():
            found = authenticator.authenticate(request)
            if found is not None:
                request.user, request.auth = found
                break
        self.check_permissions(request)

    def check_rights(self, caller: Caller) -> None:
        """Raises the refusal if the caller's key may not do this."""
        if self.policy.scope:
            refusal = right_missing(caller, self.policy, self.name)
            if refusal is not None:
                raise refusal

    def take_quota(self, request: Any) -> Taken | None:
        """Takes what the request costs from the caller's limits."""
        return take(request, request.user, self.policy.quota, request.client_address)

    def throttled(self, request: Any, wait: float | None) -> NoReturn:
        assert self.taken is not None
        raise TooManyRequests(self.taken, 1)

    @property
    def key_id(self) -> int | None:
        """The caller's key, also a refused one if it is known."""
        caller = getattr(self.request, "caller", None) if hasattr(self, "request") else None
        if isinstance(caller, Caller):
            return caller.key_id
        return getattr(self.refusal, "key_id", None)


@lru_cache(maxsize=256)
def _instances(classes: tuple[type[Any], ...]) -> list[Any]:
    return [each() for each in classes]


class ReadView(TypedGet, Endpoint):
    """A plain GET: `get(request, …)` returns a Response of a typed result."""

    # HEAD would take quota for a body that is not sent.
    allows_head: bool = False
    # Waits for the followed node: gateway.edge gives it threads of its own.
    asks_node: bool = False

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        started = time.perf_counter()
        response = super().dispatch(request, *args, **kwargs)
        self.count(time.perf_counter() - started, response.status_code)
        return response

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        return EndpointRequest(request)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """DRF's order without content negotiation and versioning."""
        self.now = datetime.now(UTC)
        self.check_host(request)
        if request.method != "GET" and not (self.allows_head and request.method == "HEAD"):
            raise NotAllowed(request.method or "", "GET")
        self.check_caller(request)
        self.check_throttles(request)

    def finalize_response(  # type: ignore[override]
        self, request: Any, response: Any, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Renders the response with the headers of every endpoint's response."""
        if not isinstance(response, Response):
            add_common_headers(response, request.request_id)
            return response  # type: ignore[no-any-return]
        chunks, encoding = [self.renderer_classes[0]().render(response.data)], None
        accepted = request.META.get("HTTP_ACCEPT_ENCODING")
        if accepted and len(chunks[0]) > MINIMUM:
            chunks, encoding = compress(chunks, accepted)
        return Answer(
            chunks,
            request_id=request.request_id,
            status=response.status_code,
            content_type=response.content_type or JsonRenderer.media_type,
            encoding=encoding,
            taken=self.taken,
            headers={name: response[name] for name in response.headers if name != "Content-Type"},
        )

    def spend(self, taken: Taken | None, refusal: Callable[[Taken], RpcError]) -> None:
        """Records what a view took from the caller's limits itself. Raises the refusal if it was
        not granted, or if the key changed since the caller was identified.
        """
        self.taken = taken
        if taken is None:
            return
        if not still_known(taken):
            self.check_caller(self.request)
        if not taken.allowed:
            raise refusal(taken)

    def count(self, seconds: float, status: int) -> None:
        request: Any = self.request
        count_call(
            self.key_id,
            self.name,
            self.refusal,
            seconds,
            path=request.path_info,
            status=status,
            address=request.client_address,
            request_id=request.request_id,
        )


class Switching(HttpResponse):
    """A response with status 101: `upgrade` makes the connection's handler (webserver.upgrades)."""

    def __init__(self, upgrade: Upgrade, *, headers: Mapping[str, str]) -> None:
        super().__init__(status=101, headers=headers)
        self.upgrade = upgrade


class EventStream(HttpResponse):
    """A response whose head is sent at once; then `proceed(stream)` writes to it on the event loop
    of webserver.worker.
    """

    def __init__(
        self, proceed: Callable[[Any], Awaitable[None]], *, ended: Callable[[], None]
    ) -> None:
        super().__init__(content_type="text/event-stream; charset=utf-8")
        self.proceed = proceed
        self.ended = ended
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Accel-Buffering"] = "no"  # nginx would hold events back
