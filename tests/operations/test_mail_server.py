"""The mail server is tried: by a button of the admin, and by doctor without a mail."""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from config.doctor import mail_checks
from config.environment.mail import mail_settings
from staff.models import AuditEntry
from tests.localnet_process import free_ports
from tests.tls_door import make_certificate

RULES = "/admin/operations/alarm/rules/"
BUTTON = f"{RULES}mail/"


class MailServer:
    """Keeps what it accepts; refuses addresses that begin with `gone`."""

    def __init__(self) -> None:
        self.got: list[tuple[list[str], bytes]] = []

    async def handle_RCPT(
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if address.startswith("gone"):
            return "550 5.1.1 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        self.got.append((envelope.rcpt_tos, envelope.content))
        return "250 2.0.0 Ok: queued as 4T2x"


@contextmanager
def mail_server(**options: Any) -> Iterator[tuple[MailServer, int]]:
    logging.getLogger("mail.log").setLevel(logging.ERROR)  # it logs every line
    handler, (port,) = MailServer(), free_ports(1)
    controller = Controller(handler, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield handler, port
    finally:
        controller.stop()


def mailing_by(settings: Any, url: str) -> None:
    """As EMAIL_URL does it."""
    found = mail_settings(url, Path("/nonexistent"))
    settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = found["backend"], found["folder"]
    settings.EMAIL_HOST, settings.EMAIL_PORT = found["host"], found["port"]
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = found["user"], found["password"]
    settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = found["starttls"], found["tls"]


def doctors(settings: Any, url: str) -> tuple[str, str]:
    """Level and text of doctor's only finding."""
    mailing_by(settings, url)
    (found,) = mail_checks.of_mail()
    return str(found.level), f"{found.text} → {found.advice}"


def check(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    return AuthResult(success=data.password == b"right", handled=False)


# --- doctor ---


def test_doctor_says_what_the_server_answers_and_sends_nothing(settings: Any) -> None:
    with mail_server() as (server, port):
        said = f"The mail server 127.0.0.1:{port} answers without TLS. → "
        assert doctors(settings, f"smtp://127.0.0.1:{port}") == ("ok", said)
    assert not server.got
    level, text = doctors(settings, f"smtp://127.0.0.1:{port}")
    assert level == "error" and "Connection refused" in text and "host and port" in text


def test_doctor_tries_the_sign_in(settings: Any) -> None:
    options = {"authenticator": check, "auth_require_tls": False}
    with mail_server(**options) as (_, port):
        level, text = doctors(settings, f"smtp://ada:right@127.0.0.1:{port}")
        assert level == "ok" and "takes the sign-in of ada" in text
        level, text = doctors(settings, f"smtp://ada:wrong@127.0.0.1:{port}")
        assert level == "error" and "refused the sign-in with 535" in text
        assert "the user or the password in EMAIL_URL" in text and "wrong" not in text


def test_doctor_tells_tls_from_none(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with mail_server(ssl_context=context) as (_, port):
        level, text = doctors(settings, f"smtps://localhost:{port}")
        assert level == "error" and "certificate is not valid: self-signed certificate" in text
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        level, text = doctors(settings, f"smtps://localhost:{port}")
        assert level == "ok" and "answers by TLSv1" in text
    with mail_server() as (_, port):
        level, text = doctors(settings, f"smtps://127.0.0.1:{port}")
        assert level == "error" and "does not speak TLS at this port" in text
        mailing_by(settings, f"smtp://127.0.0.1:{port}")
        settings.EMAIL_USE_TLS = True
        (found,) = mail_checks.of_mail()
        assert "smtps://host:465" in found.advice and "STARTTLS" in found.text


def test_doctor_does_not_wait_for_a_server_that_drips(settings: Any) -> None:
    settings.EMAIL_TIMEOUT = 1  # for each step, and for all of it
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"220 ")
                while True:
                    time.sleep(0.2)
                    connection.sendall(b"x")

        threading.Thread(target=drip, daemon=True).start()
        level, text = doctors(settings, f"smtp://127.0.0.1:{listening.getsockname()[1]}")
        assert level == "error" and "did not answer in time" in text


def test_doctor_says_that_nothing_is_mailed(settings: Any) -> None:
    level, text = doctors(settings, "")
    assert level == "note" and "No mail is sent" in text and "Set EMAIL_URL" in text


# --- the button ---


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_redis")
def test_a_test_mail_shows_the_servers_own_answer(admin_client: Any, settings: Any) -> None:
    settings.STAFF_MAIL = ["ops@example.com", "gone@example.com"]
    with mail_server() as (server, port):
        mailing_by(settings, f"smtp://127.0.0.1:{port}")
        page = admin_client.get(RULES).content.decode()
        assert "Send test mail" in page and "To gone@example.com, ops@example.com" in page
        answer = admin_client.post(BUTTON, follow=True)
    said = [str(each) for each in answer.context["messages"]]
    assert said == [
        "The mail server accepted the mail to ops@example.com: 250 2.0.0 Ok: queued as 4T2x",
        "It refused the address gone@example.com: 550 5.1.1 no such user here",
    ]
    ((to, content),) = server.got
    assert to == ["ops@example.com"] and b"there is nothing to do" in content
    entry = AuditEntry.objects.get(verb="sent a test mail")
    assert entry.subject == "gone@example.com, ops@example.com" and "queued as 4T2x" in entry.text


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_redis")
def test_a_failure_is_said_in_words(admin_client: Any, settings: Any) -> None:
    settings.STAFF_MAIL = ["gone@example.com"]
    with mail_server() as (server, port):
        mailing_by(settings, f"smtp://127.0.0.1:{port}")
        answer = admin_client.post(BUTTON, follow=True)
    (said,) = answer.context["messages"]
    assert str(said) == "The mail server answered 550: 5.1.1 no such user here"
    answer = admin_client.post(BUTTON, follow=True)
    (said,) = answer.context["messages"]
    assert str(said) == "The mail could not be sent: Connection refused"
    assert AuditEntry.objects.filter(verb="failed to send a test mail").count() == 2
    assert not server.got


@pytest.mark.django_db
@pytest.mark.usefixtures("empty_redis")
def test_the_button_is_for_operators_and_only_where_mails_are_sent(
    client: Any, django_user_model: Any, settings: Any
) -> None:
    from staff.roles import Role, give_role

    mailing_by(settings, "")
    for role, status in ((Role.VIEWER, 403), (Role.OPERATOR, 302)):
        user = django_user_model.objects.create_user(role, password="x", is_staff=True)
        give_role(user, role, by=None)
        client.force_login(user)
        page = client.get(RULES).content.decode()
        assert ("Send test mail" in page) == (role is Role.OPERATOR)
        assert client.post(BUTTON).status_code == status
        if role is Role.OPERATOR:
            assert client.get(BUTTON).status_code == 405
            assert "EMAIL_URL is not set: mails are written to files." in page
    assert not AuditEntry.objects.filter(verb__contains="test mail").exists()
