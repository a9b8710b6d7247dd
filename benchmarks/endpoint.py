"""CPU of one request through the endpoint in this process, and what each step of it costs."""

import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.service import database

os.environ["STATEMENT_TIMEOUT_MS"] = "0"
os.environ["LOCK_TIMEOUT_MS"] = "0"

BODY = b'{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[]}'


def microseconds(function: Callable[[], object], calls: int = 2000, passes: int = 7) -> float:
    """CPU of this process per call, the best of several short passes."""
    function()
    best = float("inf")
    for _ in range(passes):
        started = time.process_time()
        for _ in range(calls):
            function()
        best = min(best, (time.process_time() - started) / calls)
    return best * 1e6


def main() -> None:
    with database():
        _measure()


def _measure() -> None:
    from datetime import UTC, datetime

    from django.conf import settings
    from django.core.handlers.wsgi import WSGIHandler
    from django.urls import path, set_urlconf

    from access import buckets, refused_calls, store, usage
    from access.models import Tier
    from access.services import keys
    from gateway import hosts
    from gateway.answers import Answer, Answered
    from gateway.calls import Call
    from gateway.endpoint import RpcEndpoint
    from gateway.endpoint_policy import EndpointPolicy
    from gateway.permissions import require_standing
    from gateway.wsgi import EndpointsFirst
    from jsonrpc import dispatch
    from jsonrpc.methods import MethodTable

    table = MethodTable()

    @table.add("getSlot")
    def get_slot(call: Call) -> int:
        return 301_999_999

    policy = EndpointPolicy(scope="historical", hosts=hosts.LEDGER)

    class Paths:
        urlpatterns = [path("historical", RpcEndpoint.as_view(methods=table, policy=policy))]

    settings.ROOT_URLCONF = Paths
    set_urlconf(None)
    tier, _ = Tier.objects.update_or_create(
        name="bench",
        defaults={"rank": 40, "requests_per_second": 1_000_000, "requests_burst": 1_000_000},
    )
    issued = keys.issue_key(store.customer_by_name("bench"), tier=tier, name="bench")
    free, _ = Tier.objects.update_or_create(
        name="bench-unlimited", defaults={"rank": 40, "requests_per_second": None}
    )
    unlimited = keys.issue_key(store.customer_by_name("bench"), tier=free, name="bench")

    narrow = keys.issue_key(
        store.customer_by_name("bench"), tier=free, name="bench", scopes=["rewind"]
    )

    application, plain = EndpointsFirst(), WSGIHandler()

    def environ(secret: str) -> dict[str, Any]:
        return {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/historical",
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "epic.rpc.localhost:8000",
            "HTTP_AUTHORIZATION": secret,
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(BODY)),
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(BODY),
            "wsgi.errors": sys.stderr,
        }

    def ask(secret: str, handler: Any = application, status: str = "200 OK") -> bytes:
        seen: list[str] = []
        response = handler(environ(secret), lambda status, headers, *_: seen.append(status))
        body = b"".join(response)
        if hasattr(response, "close"):
            response.close()
        assert seen[0] == status, (seen, body)
        return body

    now = datetime.now(UTC)
    caller = keys.identify(issued.secret, now=now)
    plan = buckets.plan_of(caller, "requests")
    assert plan is not None
    host = hosts.host_of("epic.rpc.localhost")
    assert host is not None
    requests = dispatch.read(BODY, max_batch=100)
    call = Call(caller, host, now, "x", "127.0.0.1")
    taken = buckets.take(plan)
    buckets_plan = plan
    steps: dict[str, Callable[[], object]] = {
        "whole request, limited key": lambda: ask(issued.secret),
        "whole request, unlimited key": lambda: ask(unlimited.secret),
        "the same by Django's handler": lambda: ask(issued.secret, plain),
        "whole request, scope missing": lambda: ask(narrow.secret, status="403 Forbidden"),
        "  build the environ": lambda: environ(issued.secret),
        "  identify": lambda: keys.identify(issued.secret, now=now),
        "  require": lambda: require_standing(host, caller, policy, "127.0.0.1", ""),
        "  read the body's calls": lambda: dispatch.read(BODY, max_batch=100),
        "  take tokens": lambda: buckets.take(buckets_plan),
        "  answer": lambda: dispatch.answer(requests, table, call, lambda *_: None),
        "  count": lambda: usage.count(
            caller.key_id, "getSlot", "ok", seconds=1, microseconds=1, address="127.0.0.1"
        ),
        "  note a refused call": lambda: refused_calls.note(
            narrow.key.pk,
            seconds=1,
            method="getSlot",
            path="/historical",
            status=403,
            code=-32003,
            reason="scope_missing",
            message="This API key does not have the scope `historical`",
            request_id="x",
            address="127.0.0.1",
        ),
        "  response": lambda: Answer(Answered([b"x"]), "x", taken),
    }
    for name, step in steps.items():
        print(f"{name:32} {microseconds(step):7.1f} µs")


if __name__ == "__main__":
    main()
