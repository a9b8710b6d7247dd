"""A door of paths and methods made for the tests. (Django is not set up when this is read.)"""

import json
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """Every test of this folder begins with a process that remembers nothing."""


@pytest.fixture(autouse=True)
def no_token_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefetched tokens stay until they are spent: on a busy machine a test's next call may come
    after they expired, and a limit would seem to allow fewer calls than it does.
    """
    from access import prefetched_tokens

    monkeypatch.setattr(prefetched_tokens, "PREFETCH_SECONDS", 3_600.0)


@pytest.fixture
def door(settings: Any) -> Any:
    """A URLconf of one RPC path `/ledger`, one that needs a key `/land`, and one plain GET `/tip`,
    and `/mixed`, where `whoCalls` asks for another scope;
    `door.post(…)` and `door.call(…)` go through Django's whole handler.
    """
    from django.test import Client
    from django.urls import include, path
    from rest_framework.response import Response

    from gateway import hosts
    from gateway.calls import Call
    from gateway.endpoint import RpcEndpoint
    from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
    from gateway.views import ReadView
    from jsonrpc.errors import InvalidParams
    from jsonrpc.methods import MethodTable
    from jsonrpc.params import U64

    table = MethodTable()

    @table.add("getSlot")
    def get_slot(call: Call) -> int:
        return 301_999_999

    @table.add("whoCalls")
    def who_calls(call: Call) -> dict[str, Any]:
        return {
            "tier": call.caller.tier,
            "host": call.host.label,
            "id": call.request_id,
            "address": call.address,
        }

    @table.add("long")
    def long(call: Call, size: U64) -> str:
        return "slot " * max(0, min(size, 1_000_000))  # the fuzz asks for any number

    @table.add("refuse")
    def refuse(call: Call) -> None:
        raise InvalidParams("Invalid params: no")

    @table.add("break")
    def break_(call: Call) -> None:
        raise TypeError("secret detail")

    class TellTier(ReadView):
        name = "tip"

        def get(self, request: Any) -> Response:
            return Response({"tier": request.user.tier})

    class BreakGet(ReadView):
        name = "broken"

        def get(self, request: Any) -> Response:
            raise TypeError("secret detail")

    ledger = EndpointPolicy(scope="historical", hosts=hosts.LEDGER)
    land = EndpointPolicy(scope="priority", hosts=hosts.LANDING, key_required=True)
    bundle = EndpointPolicy(
        scope="bundle", hosts=hosts.LANDING, quota="bundles", error_format=ErrorFormat.PLAIN_TEXT
    )
    tip = EndpointPolicy(scope="priority", quota="tip_fetches", error_format=ErrorFormat.WORD)
    mixed = EndpointPolicy(scope="proxy", scopes={"whoCalls": "simulate"})

    class Paths:
        urlpatterns = [
            path("ledger", RpcEndpoint.as_view(methods=table, policy=ledger)),
            path("land", RpcEndpoint.as_view(methods=table, policy=land)),
            path("bundle", RpcEndpoint.as_view(methods=table, policy=bundle)),
            path("mixed", RpcEndpoint.as_view(methods=table, policy=mixed)),
            path("tip", TellTier.as_view(policy=tip)),
            path("broken", BreakGet.as_view(policy=tip)),
            path("", include("gateway.urls")),
        ]

    settings.ROOT_URLCONF = Paths
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", ".localhost", "rpc.mine.example"]

    class Door:
        client = Client(raise_request_exception=False)

        def post(self, path: str, body: bytes | str = b"", key: str = "", **meta: Any) -> Any:
            meta.setdefault("HTTP_HOST", "localhost")
            if key:
                meta["HTTP_AUTHORIZATION"] = key
            kind = meta.pop("content_type", "application/json")
            meta.setdefault("CONTENT_TYPE", kind)  # Django's client leaves it out of empty bodies
            return self.client.generic("POST", path, body, kind, **meta)

        def get(self, path: str, key: str = "", **meta: Any) -> Any:
            meta.setdefault("HTTP_HOST", "localhost")
            if key:
                meta["HTTP_AUTHORIZATION"] = key
            return self.client.generic(meta.pop("method", "GET"), path, **meta)

        def call(self, method: str, *params: Any, path: str = "/ledger", **more: Any) -> Any:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return self.post(path, json.dumps(request), **more)

    return Door()
