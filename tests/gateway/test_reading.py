"""A plain GET's short way: the steps of RpcEndpoint, by both handlers alike."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from django.utils import timezone

from access.services import keys
from gateway.wsgi import EndpointsFirst
from tests.gateway.test_wsgi import serve

Issue = Callable[..., keys.IssuedKey]
pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(settings: Any) -> Any:
    """`reader.get(path)` on `/read`, which takes from `requests`, `/long`, `/named/{name}`,
    `/refused` and `/broken`.
    """
    from django.urls import path
    from rest_framework.response import Response

    from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
    from gateway.hosts import LANDING
    from gateway.refusals import Refusal
    from gateway.views import ReadView

    class Worded(Refusal):
        reason = "worded"
        response_body = {"error": "these words alone"}

    class Read(ReadView):
        name = "read"

        def get(self, request: Any) -> Response:
            query = request.META.get("QUERY_STRING", "")
            return Response({"key": request.user.key_id, "query": query, "big": 2**64 - 1})

    class Free(ReadView):
        is_limited = False

    class Long(Free):
        name = "long"

        def get(self, request: Any) -> Response:
            return Response(["slot"] * 1_000)

    class Named(Free):
        name = "named"

        def get(self, request: Any, name: str = "") -> Response:
            return Response({"name": name})

    class Refused(Free):
        name = "refused"

        def get(self, request: Any) -> Response:
            raise Worded("a message")

    class Broken(Free):
        name = "broken"

        def get(self, request: Any) -> Response:
            raise TypeError("secret detail")

    policy = EndpointPolicy("priority", LANDING, error_format=ErrorFormat.WORD)

    class Paths:
        urlpatterns = [
            path("read", Read.as_view(policy=policy)),
            path("long", Long.as_view(policy=policy)),
            path("named/<str:name>", Named.as_view(policy=policy)),
            path("refused", Refused.as_view(policy=policy)),
            path("broken", Broken.as_view(policy=policy)),
        ]

    settings.ROOT_URLCONF = Paths

    class Reader:
        def get(self, path: str, key: str = "", method: str = "GET", **meta: Any) -> Any:
            meta.setdefault("HTTP_HOST", "localhost")
            if key:
                meta["HTTP_AUTHORIZATION"] = key
            return Client(raise_request_exception=False).generic(method, path, **meta)

    return Reader()


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/read", {}),
        ("/read", {"QUERY_STRING": "a=1&b"}),
        ("/read", {"HTTP_AUTHORIZATION": "wrong"}),
        ("/read", {"HTTP_HOST": "public.rpc.localhost"}),
        ("/read", {"HTTP_HOST": "evil.example"}),
        ("/read", {"REQUEST_METHOD": "POST"}),
        ("/read", {"REQUEST_METHOD": "OPTIONS"}),
        ("/long", {"HTTP_ACCEPT_ENCODING": "gzip"}),
        ("/named/alice", {}),
        ("/refused", {}),
        ("/broken", {}),
        ("/nothing", {}),
    ],
)
def test_both_ways_answer_alike(reader: Any, tier: Any, path: str, more: dict[str, str]) -> None:
    tier("anonymous", 0, requests_per_second=None)
    more = {"REQUEST_METHOD": "GET", **more}
    short = EndpointsFirst()
    first = serve(short, path, b"", **more)
    assert first == serve(WSGIHandler(), path, b"", **more)
    assert first == serve(short, path, b"", **more)  # which has seen the path


def test_a_limit_is_told_and_refuses(reader: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=0.1, requests_burst=1)
    response = reader.get("/read?x=1", issued.secret)
    assert response.json() == {"key": issued.key.pk, "query": "x=1", "big": 2**64 - 1}
    assert response["X-RateLimit-Remaining"] == "0"
    response = reader.get("/read", issued.secret)
    assert response.status_code == 429 and int(response["Retry-After"]) >= 1
    assert response.json()["error"] == "rate_limited"
    assert response["X-RateLimit-Limit"] == "1"


@pytest.mark.django_db(transaction=True)
def test_a_change_of_the_key_is_heard_by_the_next_request(reader: Any, issue: Issue) -> None:
    issued = issue(requests_per_second=100, requests_burst=15)
    assert reader.get("/read", issued.secret).status_code == 200
    keys.suspend_key(issued.key.pk, now=timezone.now())
    response = reader.get("/read", issued.secret)
    assert response.status_code == 403 and response.json()["error"] == "key_suspended"
    keys.revoke_key(issued.key.pk, now=timezone.now())
    assert reader.get("/read", issued.secret).json()["error"] == "key_revoked"


def test_an_error_is_logged_whole_and_told_without_detail(reader: Any, caplog: Any) -> None:
    response = reader.get("/broken", HTTP_X_REQUEST_ID="find-me")
    assert response.status_code == 500
    assert response.json() == {"error": "internal_error", "message": "Internal error"}
    assert "find-me" in caplog.text and "secret detail" in caplog.text
    assert response["X-Request-Id"] == "find-me"


def test_an_error_may_have_words_of_its_own(reader: Any) -> None:
    response = reader.get("/refused")
    assert response.status_code == 400
    assert json.loads(response.content) == {"error": "these words alone"}
