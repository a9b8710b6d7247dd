"""Endpoint, the DRF view of everything that a customer calls, and ReadView, a plain GET."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access.buckets import Taken
from access.callers import Caller
from eventloop.faces import complete
from gateway.admission import FREE, Costs, Entry, Sender, aspend
from gateway.answers import Answer, Answered, add_common_headers
from gateway.authentication import ApiKeyAuthentication
from gateway.calls import count_call
from gateway.compression import MINIMUM, compress
from gateway.declarations import TypedGet
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host
from gateway.permissions import require_right, require_served
from gateway.refusals import NotAllowed
from gateway.renderers import JsonRenderer
from jsonrpc.errors import RpcError
from webserver.upgrades import Upgrade


class EndpointRequest(Request):
    """DRF's request with the gateway's attributes: `user` is the Caller, `host` the request's Host,
    `client_address` the client's address as text.
    """

    user: Caller  # type: ignore[assignment]
    host: Host
    sender: Sender
    request_id: str
    client_address: str

    def __init__(self, request: Any, view: "Endpoint") -> None:
        super().__init__(request, authenticators=view.get_authenticators())
        self.parser_context = {}  # which has the request, and nothing is parsed
        self.entry, self.now = view.entry, view.now
        # Read most often; DRF would look up each in Django's request after an AttributeError.
        self.META = request.META
        self.method = request.method
        self.request_id = request.request_id


class Endpoint(APIView):
    """An operation that customers call; `policy` has its requirements of hosts, keys and quotas."""

    policy: EndpointPolicy = EndpointPolicy(scope="")
    verb: ClassVar[str] = "GET"
    # The name under which calls are counted.
    name: str = ""
    # HEAD would take quota for a body that is not sent.
    allows_head: bool = False
    # A view that is not takes what its call costs itself, by `spend`, or nothing.
    is_limited: bool = True
    authentication_classes: Sequence[type[Any]] = (ApiKeyAuthentication,)
    permission_classes: Sequence[type[Any]] = ()
    throttle_classes = ()
    renderer_classes = (JsonRenderer,)
    parser_classes = ()

    entry: Entry
    now: datetime
    started: float
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

    def terms(self, caller: Caller) -> Costs:
        """What the request takes from the caller's limits. Raises the refusal of one whose key may
        not make it.
        """
        require_right(self.policy, self.name, caller)
        return {self.policy.quota: 1} if self.is_limited else FREE

    @property
    def key_id(self) -> int | None:
        """The caller's key, also a refused one if it is known."""
        return self.entry.key_id(self.refusal)

    # --- the way of a request ---

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        self.started, self.now = time.perf_counter(), datetime.now(UTC)
        self.entry = Entry(request.sender, self.policy, self.terms)
        return EndpointRequest(request, self)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """DRF's order without content negotiation and versioning."""
        if request.method != self.verb and not (self.allows_head and request.method == "HEAD"):
            require_served(request.host, self.policy, request.path_info)
            raise NotAllowed(request.method or "", self.verb)
        self.perform_authentication(request)
        self.check_permissions(request)

    def perform_authentication(self, request: Any) -> None:
        """DRF's, whose Request looks for a user in Django's request first."""
        for each in request.authenticators:
            request.user, request.auth = each.authenticate(request)

    def finalize_response(  # type: ignore[override]
        self, request: Any, response: Any, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Renders the response with the headers of every endpoint's response, and counts it."""
        finished = self._finished(request, response)
        seconds = time.perf_counter() - self.started
        self.count(seconds, finished.status_code)
        self.entry.close()
        return finished

    def _finished(self, request: Any, response: Any) -> HttpResponseBase:
        if isinstance(response, Switching):
            return response
        if not isinstance(response, Response):
            add_common_headers(response, request.request_id)
            return response  # type: ignore[no-any-return]
        chunks, encoding = [self.renderer_classes[0]().render(response.data)], None
        accepted = request.META.get("HTTP_ACCEPT_ENCODING")
        if accepted and len(chunks[0]) > MINIMUM:
            chunks, encoding = compress(chunks, accepted)
        answered = Answered(
            chunks,
            status=response.status_code,
            content_type=response.content_type or JsonRenderer.media_type,
            encoding=encoding,
            headers={name: response[name] for name in response.headers if name != "Content-Type"},
        )
        return Answer(answered, request.request_id, self.entry.taken)

    def count(self, seconds: float, status: int) -> None:
        """Counts the call as usage."""
        sender = self.entry.sender
        count_call(
            self.key_id,
            self.name,
            self.refusal,
            seconds,
            path=sender.path,
            status=status,
            address=sender.address,
            request_id=self.request.request_id,  # type: ignore[attr-defined]
        )


class ReadView(TypedGet, Endpoint):
    """A plain GET: `get(request, …)` returns a Response of a typed result."""

    # Waits for the followed node: gateway.edge gives it threads of its own.
    asks_node: bool = False

    def spend(self, taken: Taken | None, refusal: Callable[[Taken], RpcError]) -> None:
        """Records what a view took from the caller's limits itself. Raises the refusal if it was
        not granted, or if the key changed since the caller was identified.
        """
        if taken is not None:
            request: Any = self.request
            request.user = complete(aspend(self.entry, taken, refusal, now=self.now))


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
