"""Webhooks and mails about submissions that are not sent, or not watched, any more."""

import json
from typing import Any

import pytest
from solders.signature import Signature

from alerts.models import Event
from priority.fates.services.announcing import FateChange
from priority.fates.services.notices import publish_stopped
from priority.fates.store.settling import WATCH_ENDED
from priority.submissions import State

pytestmark = pytest.mark.django_db
_OVER = "patience_over: it was sent for NONCE_PATIENCE_SECONDS"


def test_a_webhook_says_once_a_day_why_a_transaction_is_not_sent(
    ada: Any, hook: Any, receiver: Any, clock: Any, work: Any, issue: Any
) -> None:
    key = issue().key
    assert key.customer_id == ada.pk
    for moved in (0, 1, 86_400):  # by a lander, by the one that took over, and the next day
        clock.move(seconds=moved)
        publish_stopped([_change(key.pk, clock.now, _OVER, bundle_id="b" * 64)])
        work()
    assert len(receiver.got) == 2
    content = json.loads(receiver.got[0][2])
    assert content["type"] == "submission.stopped"
    found = {name: content["data"][name] for name in ("keyId", "signature", "bundleId", "reason")}
    assert found == {
        "keyId": key.pk,
        "signature": str(Signature.default()),
        "bundleId": "b" * 64,
        "reason": _OVER,
    }
    assert "not final" in content["data"]["text"]


def test_a_mail_leads_to_the_fate_whose_watch_ended(
    ada: Any, clock: Any, work: Any, issue: Any, mailoutbox: list[Any]
) -> None:
    ada.email = "ada@example.com"
    ada.save()
    publish_stopped([_change(issue().key.pk, clock.now, WATCH_ENDED)])
    work()
    (mail,) = mailoutbox
    assert mail.subject.startswith("Transaction's fate stays unknown: transaction 1111")
    assert f"/portal/fates/{Signature.default()}/" in mail.body


def test_without_a_key_or_a_reason_nothing_is_published(clock: Any, issue: Any) -> None:
    publish_stopped(
        [_change(None, clock.now, _OVER), _change(issue().key.pk, clock.now, ""), _gone(clock)]
    )
    assert not Event.objects.exists()


def _gone(clock: Any) -> FateChange:
    return _change(1_000_000, clock.now, _OVER)  # a key that was deleted


def _change(key_id: int | None, at: Any, stopped: str, bundle_id: str = "") -> FateChange:
    return FateChange(
        key_id=key_id,
        signature=bytes(64),
        state=State.SENT,
        commitment="",
        slot=None,
        transaction_index=None,
        err=None,
        reason="",
        settled=False,
        at=at,
        bundle_id=bundle_id,
        stopped=stopped,
    )
