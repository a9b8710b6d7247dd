"""What staff can do to a webhook: buttons of its page."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from alerts.models import Webhook
from alerts.services import webhooks
from staff.actions import AdminAction


def _action(name: str, title: str, effect: str, verb: str, run: Any, **more: Any) -> AdminAction:
    return AdminAction(name, title, effect, verb, run, asks=False, **more)


def _is_off(request: HttpRequest, row: Webhook) -> str:
    return "" if row.is_enabled else "It is off: enable it first"


ACTIONS = (
    _action(
        "test",
        "Send a test",
        "Posts an event of the kind “test” to it",
        "sent a test to",
        lambda request, row: webhooks.send_test(row.pk, now=timezone.now()),
        said="A test is on its way: the list below shows the result.",
        why_not=_is_off,
    ),
    _action(
        "secret",
        "Show the secret",
        "The secret with which its receiver verifies what comes. The audit log says who saw it",
        "showed the secret of",
        lambda request, row: webhooks.secret_of(row),
        shows=True,
    ),
    _action(
        "rotate",
        "Rotate the secret",
        "Makes a new secret; the old one goes on for 24 hours beside it",
        "rotated the secret of",
        lambda request, row: webhooks.rotate_secret(row.pk, now=timezone.now()),
        said="The secret is new. For 24 hours requests are signed with the old one as well.",
        shows=True,
    ),
    _action(
        "enable",
        "Enable",
        "It gets what happens from now on; its failures are forgotten",
        "enabled",
        lambda request, row: webhooks.enable(row.pk),
        said="The webhook is on: it gets what happens from now on.",
        why_not=lambda request, row: "It is on" if row.is_enabled else "",
    ),
    _action(
        "disable",
        "Disable",
        "Nothing is posted to it any more, and what waits for it is given up",
        "disabled",
        lambda request, row: webhooks.disable(row.pk),
        said="The webhook is off. What waited for it was given up.",
        why_not=_is_off,
    ),
)
