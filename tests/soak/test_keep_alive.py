"""A connection that lies idle for longer than callers are promised is still good."""

import socket
import time

import pytest

from tests.clients.service import running_service

pytestmark = pytest.mark.soak
_PROMISED_SECONDS = 65


def test_an_idle_connection_is_held_open() -> None:
    with (
        running_service() as service,
        socket.create_connection((service.host, service.port)) as idle,
    ):
        idle.settimeout(10)
        for pause in (0, _PROMISED_SECONDS):
            time.sleep(pause)
            idle.sendall(b"GET /priority/ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = idle.recv(4_096)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert answer.endswith(b'{"result":"pong"}')
