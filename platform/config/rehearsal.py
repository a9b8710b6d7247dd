"""Runs calls, pages and the schedule's checks before the application is forked.

The interpreter specializes code as it runs and fills caches: done here, the result is in memory
pages that all forks share, and no first request pays for it.
"""

import io
import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db import connections
from django.utils import timezone

from access.services import keys
from config.due_checks import QUESTIONS
from config.wsgi import application
from gateway.calls import Call
from gateway.hosts import ALL_IN_ONE
from gateway.paths import endpoints
from jsonrpc import dispatch
from shared_state import script_socket
from shared_state.redis_client import client

log = logging.getLogger(__name__)

# After so many calls code is specialized.
_TIMES = 8
_PAGES = ("/readyz", "/", "/admin/login/", "/docs/", "/portal/")
_ACCOUNT = "So11111111111111111111111111111111111111112"
_CALLS: tuple[tuple[str, str, list[Any]], ...] = (
    ("/historical", "getSlot", []),
    ("/historical", "getBlock", [5]),
    ("/historical", "getTransaction", ["5" * 88]),
    ("/historical", "getSignaturesForAddress", [_ACCOUNT]),
    ("/rewind", "getRewindCoverage", []),
    ("/rewind", "getAccountInfo", [_ACCOUNT, {"slot": 5}]),
    ("/bundle", "getTipAccounts", []),
)


def rehearse() -> None:
    """Reads only; leaves no connection and no thread. Failures are ignored here: they are reported
    when a caller meets them.
    """
    views = dict(endpoints())
    try:
        for _ in range(_TIMES):
            for path, method, params in _CALLS:
                _try(_call, views[path], method, params)
            for question in QUESTIONS.values():
                _try(question, timezone.now())
        for path in _PAGES:
            _try(_page, path)
    finally:
        connections.close_all()
        script_socket.forget()
        client().connection_pool.disconnect()
        cache: Any = caches["default"]
        cache.client.do_close_clients()  # what close() leaves open, to be used again


def _try(work: Callable[..., object], *args: Any) -> None:
    try:
        work(*args)
    except Exception as error:
        log.debug("not rehearsed: %s", error)


def _call(view: Any, method: str, params: list[Any]) -> None:
    """Runs the method without its endpoint, which would count it as usage."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    call = Call(keys.anonymous(), ALL_IN_ONE, datetime.now(UTC), "rehearsal", "127.0.0.1")
    calls = dispatch.read(body, max_batch=settings.MAX_BATCH)
    dispatch.answer(calls, view.methods, call, lambda _method, _error: None)


def _page(path: str) -> None:
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": "text/html",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
    }
    answered: Any = application(environ, lambda *_: None)
    try:
        for _ in answered:
            pass
    finally:
        if hasattr(answered, "close"):
            answered.close()
