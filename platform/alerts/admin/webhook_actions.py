"""Actions on a webhook: buttons of its page."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from alerts.models import Webhook
from alerts.services import webhooks
from staff.actions import AdminAction


def _action(name: str, title: str, effect: str, verb: str, run: Any, **more: Any) -> AdminAction:
    return AdminAction(name, title, effect, verb, run, asks=False, **more)


def _is_off(request: HttpRequest, row: Webhook) -> str:
    return "" if row.is_enabled else "It is disabled: enable it first"


ACTIONS = (
    _action(
        "test",
        "Send a test",
        "Posts an event of the kind “test”",
        "sent a test to",
        lambda request, row: webhooks.send_test(row.pk, now=timezone.now()),
        said="The test is being sent: the list below shows the result.",
        why_not=_is_off,
    ),
    _action(
        "secret",
        "Show the secret",
        "The secret with which the receiver verifies requests. Showing it is logged",
        "showed the secret of",
        lambda request, row: webhooks.secret_of(row),
        shows=True,
    ),
    _action(
        "rotate",
        "Rotate the secret",
        "Makes a new secret; the old one stays valid beside it for 24 hours",
        "rotated the secret of",
        lambda request, row: webhooks.rotate_secret(row.pk, now=timezone.now()),
        said="The secret is rotated. For 24 hours requests are signed with the old one as well.",
        shows=True,
    ),
    _action(
        "enable",
        "Enable",
        "It receives events from now on; its failures are reset",
        "enabled",
        lambda request, row: webhooks.enable(row.pk),
        said="The webhook is enabled: it receives events from now on.",
        why_not=lambda request, row: "It is enabled" if row.is_enabled else "",
    ),
    _action(
        "disable",
        "Disable",
        "Nothing more is posted to it; waiting deliveries are given up",
        "disabled",
        lambda request, row: webhooks.disable(row.pk),
        said="The webhook is disabled. Waiting deliveries were given up.",
        why_not=_is_off,
    ),
)
