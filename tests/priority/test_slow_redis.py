"""A Redis that stands still for a moment: what it was sent is waited for, and others are told when
to come again.
"""

import http.client
import json
import os
import signal as signals
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from solders.transaction import VersionedTransaction

from priority.submissions import ACCEPTED_STREAM
from shared_state import loop_scripts, script_socket
from shared_state.redis_client import client
from tests.patience import PATIENCE_SECONDS, wait
from tests.priority.sending import SENT, signature, signed, text, tip
from tests.web_server import service_worker
from tests.webserver.serving import serving


def send(port: int, key: str, transaction: VersionedTransaction) -> tuple[int, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction"}
    body["params"] = [text(transaction), SENT]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    headers = {"Authorization": key, "Content-Type": "application/json"}
    connection.request("POST", "/priority", json.dumps(body), headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


@contextmanager
def standing_still() -> Iterator[None]:
    pid = int(client().info("server")["process_id"])
    os.kill(pid, signals.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signals.SIGCONT)


def is_asked_on_the_loop() -> bool:
    scripts: Any = getattr(script_socket.on_loop, "__self__", None)
    return scripts is not None and scripts.is_connected


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("own_redis")
def test_a_submission_is_not_lost_and_later_ones_come_again(
    api_key: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LANDING_BEHIND_SLOTS = 16
    monkeypatch.setattr(loop_scripts, "_PATIENT_SECONDS", PATIENCE_SECONDS)
    before, first, second = (signed(tip()) for _ in range(3))
    with serving(service_worker()) as port, ThreadPoolExecutor(1) as others:
        wait(
            lambda: send(port, api_key, before)[0] == 200 and is_asked_on_the_loop(),
            "its event loop has a connection",
        )
        with standing_still():
            waiting = others.submit(send, port, api_key, first)
            wait(lambda: script_socket._slow, "nothing comes for half a second")
            status, answer = send(port, api_key, second)
            error = answer["error"]
            assert (status, error["data"]["reason"]) == (503, "landing_behind")
            assert error["data"]["found"] >= 500
            assert (error["data"]["unsent"], error["data"]["retryAfterSeconds"]) == (1, 2)
            assert not waiting.done()
        assert waiting.result(PATIENCE_SECONDS)[1]["result"] == signature(first)
        wait(lambda: send(port, api_key, second)[0] == 200, "it is accepted now")
        assert client().xlen(ACCEPTED_STREAM) == 3
    connections.close_all()
