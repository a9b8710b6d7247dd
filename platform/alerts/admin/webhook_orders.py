"""Orders to a webhook: buttons of its page, each a POST."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from access.errors import OrderRefused
from alerts.models import Webhook
from alerts.services import webhooks
from staff import audit
from staff.formatting import utc


@dataclass(frozen=True, slots=True)
class Order:
    """One order: `do` carries it out; `done` is what the audit log and the page say of it."""

    title: str
    done: str
    told: str
    hint: str
    do: Callable[[Webhook, datetime], object]
    shows_secret: bool = False


ORDERS = {
    "test": Order(
        "Send a test",
        "sent a test to",
        "A test is on its way: the list below tells what came of it.",
        "Posts an event of the kind “test” to it",
        lambda webhook, now: webhooks.send_test(webhook.pk, now=now),
    ),
    "secret": Order(
        "Show the secret",
        "showed the secret of",
        "",
        "The secret with which its receiver verifies what comes. The audit log says who saw it",
        lambda webhook, _now: webhooks.secret_of(webhook),
        shows_secret=True,
    ),
    "rotate": Order(
        "Rotate the secret",
        "rotated the secret of",
        "The secret is new. For 24 hours requests are signed with the old one as well.",
        "Makes a new secret; the old one goes on for 24 hours beside it",
        lambda webhook, now: webhooks.rotate_secret(webhook.pk, now=now),
        shows_secret=True,
    ),
    "enable": Order(
        "Enable",
        "enabled",
        "The webhook is on: it gets what happens from now on.",
        "It gets what happens from now on; its failures are forgotten",
        lambda webhook, _now: webhooks.enable(webhook.pk),
    ),
    "disable": Order(
        "Disable",
        "disabled",
        "The webhook is off. What waited for it was given up.",
        "Nothing is posted to it any more, and what waits for it is given up",
        lambda webhook, _now: webhooks.disable(webhook.pk),
    ),
}


def fit_orders(webhook: Webhook) -> list[tuple[str, Order]]:
    """The orders that the webhook can take as it is."""
    unfit = {"disable", "test"} if not webhook.is_enabled else {"enable"}
    return [(name, order) for name, order in ORDERS.items() if name not in unfit]


def carry_out(model_admin: Any, request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Does what the button said, and leads back to the webhook's page or shows the secret."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    order = ORDERS.get(name)
    webhook = Webhook.objects.select_related("customer").filter(pk=pk).first()
    if order is None or webhook is None:
        raise Http404
    if not model_admin.has_change_permission(request, webhook):
        raise PermissionDenied
    now = timezone.now()
    try:
        with transaction.atomic():
            result = order.do(webhook, now)
            audit.record(request, order.done, webhook)
    except OrderRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("admin:alerts_webhook_change", webhook.pk)
    if order.shows_secret:
        return _secret_page(model_admin, request, webhook, str(result), order.told)
    messages.success(request, order.told)
    return redirect("admin:alerts_webhook_change", webhook.pk)


def _secret_page(
    model_admin: Any, request: HttpRequest, webhook: Webhook, secret: str, told: str
) -> HttpResponse:
    webhook.refresh_from_db()
    until, now = webhook.previous_until, timezone.now()
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": f"Secret of {webhook}",
        "webhook": webhook,
        "secret": secret,
        "told": told,
        "old_until": utc(until) if until is not None and until > now else "",
    }
    response = TemplateResponse(request, "admin/alerts/webhook/secret.html", context)
    response["Cache-Control"] = "no-store"
    return response
