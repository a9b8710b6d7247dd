"""A customer's webhooks: the list, one with its deliveries, and actions."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from access.callers import Quota
from access.errors import ActionRefused
from alerts.models import Delivery, Webhook
from alerts.services import webhooks as services
from portal import formatting, store
from portal.forms.webhooks import WebhookForm
from portal.models import Member
from portal.services import alert_mails
from portal.views.pages import (
    action_of_owners,
    carry_out,
    changed_by_owners,
    for_members,
    for_owners,
    limited,
    page,
)
from staff import audit
from staff.changes import host_of
from staff.formatting import ago, badge, grouped

# Each posts to a URL that a user entered.
_TESTS = Quota(rate=10 / 60, burst=10)
_DELIVERIES = 50
_STATES = {
    Delivery.State.WAITING: ("waiting", "warning"),
    Delivery.State.DELIVERED: ("delivered", "good"),
    Delivery.State.FAILED: ("given up", "bad"),
}


@for_members
def webhooks(request: HttpRequest, member: Member) -> HttpResponse:
    """All webhooks, and whether alerts are mailed."""
    now = timezone.now()
    rows = [_row(each, now) for each in store.webhooks_of(member.customer_id)]
    context = {
        "rows": rows,
        "most": services.MOST_WEBHOOKS,
        "is_full": len(rows) >= services.MOST_WEBHOOKS,
        "mail_to": member.customer.email,
        "mails": member.customer.alert_mails,
    }
    return page(request, "portal/webhooks.html", context)


def _row(webhook: Webhook, now: Any) -> dict[str, Any]:
    return {
        "row": webhook,
        "state": formatting.webhook_state(webhook, now),
        "kinds": ", ".join(webhook.kinds) or "all events",
        "delivered": ago(webhook.delivered_at, now),
    }


@for_owners
def add(request: HttpRequest, member: Member) -> HttpResponse:
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                new = services.create(member.customer_id, **form.cleaned_data)
                audit.record(request, "added", new, text="in the portal")
        except ActionRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Added {new}: its secret is below. Send a test now")
            return _to(new.pk)
    return page(request, "portal/webhook_add.html", {"form": form})


@changed_by_owners
def webhook(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """One webhook with its newest deliveries; its form changes it."""
    found, now = _own(member, pk), timezone.now()
    initial = {"name": found.name, "url": found.url, "kinds": found.kinds}
    form = WebhookForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                changed = services.edit(pk, **form.cleaned_data)
                changes = {
                    name: [initial[name], getattr(changed, name)]
                    for name in initial
                    if initial[name] != getattr(changed, name)
                }
                if "url" in changes:
                    changes["url"] = [*map(host_of, changes["url"])]
                audit.record(request, "changed", changed, text="in the portal", changes=changes)
        except ActionRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Changed {changed}")
            return _to(pk)
    context = {
        "webhook": found,
        "row": _row(found, now),
        "form": form,
        "secret": _secret(found) if member.is_owner else None,
        "old_until": ago(found.previous_until, now, "")
        if found.previous_until is not None and found.previous_until > now
        else None,
        "deliveries": [
            _delivery(each, now) for each in services.deliveries_of(found, limit=_DELIVERIES)
        ],
        "shown": _DELIVERIES,
    }
    return page(request, "portal/webhook.html", context)


def _secret(webhook: Webhook) -> str | None:
    """None if it can no longer be decrypted: then a new one is needed."""
    try:
        return services.secret_of(webhook)
    except ActionRefused:
        return None


def _delivery(delivery: Delivery, now: Any) -> dict[str, Any]:
    text, hue = _STATES[Delivery.State(delivery.state)]
    return {
        "row": delivery,
        "event": delivery.event,
        "state": badge(text, hue),
        "at": ago(delivery.event.at, now),
        "due": ago(delivery.due_at, now) if delivery.state == Delivery.State.WAITING else None,
        "attempts": [
            {
                "row": each,
                "at": ago(each.at, now),
                "took": f"{grouped(each.milliseconds)} ms",
            }
            for each in delivery.log.all()
        ],
    }


def _action(
    verb: str, said: str, run: Callable[[int], object], *, limited: bool = False
) -> Callable[..., HttpResponseBase]:
    """A button of a webhook's page."""

    @action_of_owners
    def press(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
        refused = _limited(request, member) if limited else None
        if refused is not None:
            return refused
        carry_out(request, _own(member, pk), verb, lambda: run(pk), said=said)
        return _to(pk)

    return press


send_test = _action(
    "tested",
    "The test is being sent: reload this page in a few seconds",
    lambda pk: services.send_test(pk, now=timezone.now()),
    limited=True,
)
rotate_secret = _action(
    "rotated the secret of",
    "New secret made; for a day requests are signed with the old one as well",
    lambda pk: services.rotate_secret(pk, now=timezone.now()),
)
enable = _action("enabled", "Events are posted to it again", services.enable)
disable = _action("disabled", "Nothing is posted to it until it is enabled", services.disable)


@action_of_owners
def delete(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    found = _own(member, pk)
    with transaction.atomic():
        audit.record(request, "deleted", found, text="in the portal")
        services.delete(pk)
    messages.success(request, f"Deleted {found}")
    return HttpResponseRedirect(reverse("portal:webhooks"))


@action_of_owners
def redeliver(request: HttpRequest, member: Member, pk: int, delivery_pk: int) -> HttpResponse:
    found = _own(member, pk)
    if not Delivery.objects.filter(pk=delivery_pk, webhook=found).exists():
        raise Http404("no such delivery of this webhook")
    refused = _limited(request, member)
    if refused is not None:
        return refused
    again = partial(services.redeliver, delivery_pk, now=timezone.now())
    carry_out(request, found, "delivered again to", again, said="It is being delivered again")
    return _to(pk)


@action_of_owners
def mails(request: HttpRequest, member: Member) -> HttpResponse:
    """Switches alert mails on or off."""
    wanted = request.POST.get("wanted") == "on"
    with transaction.atomic():
        before = alert_mails.want(member.customer_id, wanted=wanted)
        if before != wanted:
            changes = {"alert_mails": [before, wanted]}
            audit.record(request, "changed", member.customer, text="in the portal", changes=changes)
    messages.success(request, f"Alerts are {'now' if wanted else 'no longer'} mailed")
    return HttpResponseRedirect(reverse("portal:webhooks"))


def _limited(request: HttpRequest, member: Member) -> HttpResponse | None:
    return limited(request, "webhook-test", f"customer {member.customer_id}", _TESTS)


def _own(member: Member, pk: int) -> Webhook:
    found = store.webhooks_of(member.customer_id).filter(pk=pk).first()
    if found is None:
        raise Http404("no such webhook of this customer")
    return found


def _to(pk: int) -> HttpResponse:
    return HttpResponseRedirect(reverse("portal:webhook", args=[pk]))
