"""Local receivers of webhooks and mails."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.utils import timezone

from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS


class Receiver:
    """A web server that records what is posted to it, and gives set responses."""

    def __init__(self, protocol: str = "HTTP/1.0") -> None:
        self.status, self.headers, self.text = 204, {}, b""  # type: ignore[var-annotated]
        self.connections, self._good = 0, sys.maxsize
        # By their numbers, from 1 on: requests that are answered 500, and seconds until the answer.
        self.fails: Collection[int] = ()
        self.pauses: dict[int, float] = {}
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.was_asked = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = protocol

            def setup(self) -> None:
                super().setup()
                receiver.connections += 1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.got.append((self.path, headers, body))
                receiver.was_asked.set()
                receiver.may_answer.wait(PATIENCE_SECONDS)
                if len(receiver.got) > receiver._good:
                    receiver.status, receiver._good = 500, sys.maxsize
                fails = len(receiver.got) in receiver.fails
                time.sleep(receiver.pauses.get(len(receiver.got), 0.0))
                with suppress(OSError):
                    self.send_response(500 if fails else receiver.status)
                    for name, value in receiver.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(receiver.text)))
                    self.end_headers()
                    self.wfile.write(receiver.text)

            do_GET = do_POST

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()

    def fail_after(self, good: int) -> None:
        """After so many more requests it answers 500."""
        self._good = len(self.got) + good

    def stop(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receivers() -> Iterator[Callable[[], Receiver]]:
    """`receivers()`: a web server of its own port."""
    started: list[Receiver] = []

    def start() -> Receiver:
        started.append(Receiver())
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def receiver(receivers: Callable[[], Receiver]) -> Receiver:
    return receivers()


@pytest.fixture
def keeping() -> Iterator[Receiver]:
    """A web server that keeps its connections."""
    receiver = Receiver("HTTP/1.1")
    yield receiver
    receiver.stop()


class MailServer:
    """An SMTP server that records mails; `refusal` is its response instead of accepting."""

    def __init__(self) -> None:
        self.got: list[tuple[list[str], Message]] = []
        self.refusal = ""

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        if self.refusal:
            return self.refusal
        parsed = message_from_bytes(envelope.content, policy=policy.default)
        self.got.append((envelope.rcpt_tos, parsed))
        return "250 taken"


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    """A real SMTP server that the service uses."""
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # it logs every line
    server = MailServer()
    (port,) = free_ports(1)
    controller = Controller(server, hostname="127.0.0.1", port=port)
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    yield server
    controller.stop()


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _this_machine_may_be_reached(settings: Any) -> None:
    settings.WEBHOOKS_PRIVATE = True
    settings.STAFF_MAIL = []


@pytest.fixture
def ada(db: None) -> Any:
    """A customer without a mail address."""
    from access.models import Customer

    return Customer.objects.create(name="Ada")


@pytest.fixture
def hook(ada: Any, receiver: Receiver) -> Any:
    """Ada's webhook to the receiver, for every kind."""
    from alerts.services import webhooks

    return webhooks.create(ada.pk, name="Ada's hook", url=receiver.url)


@pytest.fixture
def happen(clock: Clock) -> Callable[..., Any]:
    """`happen(ada, "key.revoked", about="…")`: an event as the service writes it."""
    from alerts.services.events import publish

    def write(customer: Any, kind: str = "key.revoked", about: str = "key A", **data: Any) -> Any:
        return publish(
            kind,
            about=about,
            text=f"{about} was revoked.",
            data=data,
            now=clock.now,
            customer_id=None if customer is None else customer.pk,
        )

    return write


@pytest.fixture
def work(clock: Clock, settings: Any) -> Callable[[], None]:
    """`work()`: what the worker's tasks do at the clock's moment, in this thread."""
    from alerts.services import delivering, mailing, routing

    def once() -> None:
        routing.route_events(now=clock.now, staff_mail=settings.STAFF_MAIL)
        turns = [
            turn
            for failing in (False, True)
            for turn in delivering.claim(now=clock.now, most=10, failing=failing)
        ]
        for turn in turns:
            delivering.deliver(turn, clock=clock)
        for mail in mailing.claim(now=clock.now, most=10):
            mailing.deliver(mail, clock=clock)

    return once
