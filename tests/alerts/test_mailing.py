"""Mails: a clear subject, a link to act, and at most one a minute."""

from datetime import timedelta
from typing import Any

import pytest

from alerts.models import Attempt, Delivery
from alerts.schedule import DELAYS, JITTER

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada_by_mail(ada: Any) -> Any:
    ada.email = "ada@example.com"
    ada.save()
    return ada


def test_a_customer_is_mailed_what_happened_with_a_link_to_act(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://rpc.example.com"
    settings.DEFAULT_FROM_EMAIL = "Tidemark <tidemark@example.com>"
    happen(ada_by_mail, about="key Trading (tmk_AbCd…wxyz)", keyId=7)
    work()
    ((to, mail),) = mail_server.got
    assert to == ["ada@example.com"]
    assert mail["Subject"].strip() == "API key was revoked: key Trading (tmk_AbCd…wxyz)"
    assert mail["From"] == "Tidemark <tidemark@example.com>"
    assert mail.get_content_type() == "text/plain"
    text = mail.get_content()
    assert "key Trading (tmk_AbCd…wxyz) was revoked." in text
    assert "Where: https://rpc.example.com/portal/keys/7/\n" in text.replace("\r", "")
    assert "https://rpc.example.com/portal/webhooks/" in text
    assert "&" not in text, "a plain text is not escaped"
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.mail_to) == ("delivered", "ada@example.com")
    work()
    assert len(mail_server.got) == 1


def test_a_name_in_a_mail_steers_nothing(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any
) -> None:
    happen(ada_by_mail, about="key a\nSubject: b\n\n\u202egnp.exe\x1b[2J", keyId=7)
    work()
    ((_, mail),) = mail_server.got
    shown = r"key a Subject: b \u202egnp.exe\x1b[2J"
    assert mail["Subject"].strip() == f"API key was revoked: {shown}"
    text = mail.get_content().replace("\r", "")
    assert f"{shown}\n{shown} was revoked.\n" in text
    assert not {"\u202e", "\x1b"} & {*text}


def test_no_mail_where_none_is_wanted(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any
) -> None:
    ada_by_mail.alert_mails = False
    ada_by_mail.save()
    happen(ada_by_mail)
    work()
    assert mail_server.got == []
    assert not Delivery.objects.exists()


def test_what_comes_within_a_minute_is_one_mail_to_each_of_the_staff(
    db: None, mail_server: Any, happen: Any, work: Any, clock: Any, settings: Any
) -> None:
    settings.STAFF_MAIL = ["night@example.com", "day@example.com"]
    settings.PUBLIC_URL = "https://rpc.example.com"
    runbook = "https://rpc.example.com/docs/alarms/#no-upstream"
    happen(None, "alarm.opened", about="lander is gone", runbookUrl=runbook)
    work()
    assert f"Runbook: {runbook}\n" in mail_server.got[0][1].get_content().replace("\r", "")
    assert [(to, mail["Subject"]) for to, mail in mail_server.got] == [
        (["day@example.com"], "Alarm: lander is gone"),
        (["night@example.com"], "Alarm: lander is gone"),
    ]
    assert "https://rpc.example.com/admin/" in mail_server.got[0][1].get_content()
    mail_server.got.clear()
    happen(None, "alarm.closed", about="lander is gone")
    for number in range(20):
        clock.move(seconds=2)
        happen(None, "alarm.opened", about=f"gap {number}")
        work()
    assert mail_server.got == []
    clock.move(seconds=20)
    work()
    assert len(mail_server.got) == 2
    _to, mail = mail_server.got[0]
    assert mail["Subject"] == "Alarm: gap 0 (and 20 more)"
    lines = mail.get_content().splitlines()
    assert all(f"Alarm: gap {number}" in lines for number in range(20))
    assert "Alarm is over: lander is gone" in lines
    assert Delivery.objects.exclude(state="delivered").count() == 0


def test_a_refused_mail_is_sent_again_later(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any, clock: Any
) -> None:
    mail_server.refusal = "451 come back later"
    happen(ada_by_mail)
    work()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries) == ("waiting", 1)
    row = Attempt.objects.get()
    assert (row.status, row.problem) == (None, "the mail server answered 451")
    assert row.answer == "come back later"
    wait = delivery.due_at - clock.now
    assert DELAYS[0] * (1 - JITTER) <= wait <= DELAYS[0] * (1 + JITTER)
    mail_server.refusal = ""
    clock.now = delivery.due_at
    work()
    assert len(mail_server.got) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("delivered", 2)


def test_an_unreachable_mail_server_is_described(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any, settings: Any
) -> None:
    import socket

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        settings.EMAIL_PORT = closed.getsockname()[1]
        happen(ada_by_mail)
        work()
    assert Attempt.objects.get().problem == "the mail could not be sent: Connection refused"


def test_a_line_break_in_a_name_begins_no_header(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any
) -> None:
    happen(ada_by_mail, about="key A\r\nBcc: all@example.com")
    work()
    ((to, mail),) = mail_server.got
    assert to == ["ada@example.com"]
    assert mail["Bcc"] is None
    assert mail["Subject"] == "API key was revoked: key A Bcc: all@example.com"


def test_a_worker_killed_while_it_mailed_leaves_the_mail_to_the_next(
    ada_by_mail: Any, mail_server: Any, happen: Any, work: Any, clock: Any
) -> None:
    from alerts.services import mailing, routing

    happen(ada_by_mail)
    routing.route_events(now=clock.now, staff_mail=[])
    assert len(mailing.claim(now=clock.now, most=5)) == 1
    work()
    assert mail_server.got == []
    clock.now += timedelta(seconds=120)
    work()
    assert len(mail_server.got) == 1
