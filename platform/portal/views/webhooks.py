"""A customer's webhooks: the list, one with its deliveries, and actions."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from access.callers import Quota
from access.errors import ActionRefused
from alerts.admin.states import attempt_rows, delivery_rows, webhook_state
from alerts.models import Rule, Webhook
from alerts.services import webhooks as services
from alerts.store import addresses_of, newest_deliveries
from portal import store
from portal.forms.webhooks import AlertAddressForm, WebhookForm
from portal.models import Member
from portal.services import alert_mails
from portal.views.pages import (
    Page,
    action_of_owners,
    attempt,
    carry_out,
    changed_by_owners,
    count,
    for_members,
    for_owners,
    page,
)
from staff import audit, outgoing_mail
from staff.changes import between
from staff.formatting import ago

# Each posts to a URL that a user entered.
TESTS = Quota(rate=10 / 60, burst=10)
DELIVERIES = 50


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
        "addresses": ", ".join(addresses_of(member.customer_id)),
        "mails": member.customer.alert_mails,
        "sends_mails": outgoing_mail.is_sent(),
        "address_form": AlertAddressForm(),
    }
    return page(request, "portal/webhooks.html", context)


def _row(webhook: Webhook, now: Any) -> dict[str, Any]:
    return {
        "row": webhook,
        "state": webhook_state(webhook, now),
        "kinds": ", ".join(webhook.kinds) or "all events",
        "delivered": ago(webhook.delivered_at, now),
    }


@for_owners
def add(request: HttpRequest, member: Member) -> HttpResponse:
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with attempt(request, form) as attempted:
            new = services.create(member.customer_id, **form.cleaned_data)
            audit.record(request, "added", new, text="in the portal")
        if attempted.done:
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
        with attempt(request, form) as attempted:
            changed = services.edit(pk, **form.cleaned_data)
            changes = between(initial, changed)
            audit.record(request, "changed", changed, text="in the portal", changes=changes)
        if attempted.done:
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
        "deliveries": logged(found, now, member, "portal:webhook_redeliver"),
        "shown": DELIVERIES,
    }
    return page(request, "portal/webhook.html", context)


def logged(
    source: Webhook | Rule, now: datetime, member: Member, view: str
) -> list[dict[str, Any]]:
    """Rows of templates/portal/deliveries.html. The view delivers one again: owners have a button
    for it, unless the webhook is off.
    """
    deliveries = newest_deliveries(source, DELIVERIES)
    return [
        {
            **row,
            "log": attempt_rows(each.log.all(), now, by_mail=each.webhook_id is None),
            "again": reverse(view, args=[source.pk, each.pk])
            if member.is_owner and (each.webhook is None or each.webhook.is_enabled)
            else "",
        }
        for row, each in zip(delivery_rows(deliveries, now), deliveries, strict=True)
    ]


def _secret(webhook: Webhook) -> str | None:
    """None if it can no longer be decrypted: then a new one is needed."""
    try:
        return services.secret_of(webhook)
    except ActionRefused:
        return None


@dataclass(frozen=True, slots=True)
class Buttons:
    """The buttons of the `page` of a webhook or rule, which `own` finds; `listed` has all."""

    own: Callable[[Member, int], Any]
    page: str
    listed: str

    def button(
        self, verb: str, said: str, run: Callable[[int], object], *, limited: bool = False
    ) -> Page[[int]]:
        """Runs a service. One that is `limited` counts as a test."""

        @action_of_owners
        def press(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
            found = self.own(member, pk)
            if limited:
                count_test(request, member)
            carry_out(request, found, verb, lambda: run(pk), said=said)
            return redirect(self.page, pk)

        return press

    def delete(self, run: Callable[[int], object]) -> Page[[int]]:
        """Deletes it by a service."""

        @action_of_owners
        def delete(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
            found = self.own(member, pk)
            with attempt(request) as attempted:
                audit.record(request, "deleted", found, text="in the portal")
                run(pk)
            if not attempted.done:
                return redirect(self.page, pk)
            messages.success(request, f"Deleted {found}")
            return redirect(self.listed)

        return delete

    def redeliver(self, verb: str) -> Page[[int, int]]:
        """Delivers one of its events again."""

        @action_of_owners
        def redeliver(
            request: HttpRequest, member: Member, pk: int, delivery_pk: int
        ) -> HttpResponse:
            found = self.own(member, pk)
            get_object_or_404(found.deliveries, pk=delivery_pk)
            count_test(request, member)
            again = partial(services.redeliver, delivery_pk, now=timezone.now())
            carry_out(request, found, verb, again, said="It is being delivered again")
            return redirect(self.page, pk)

        return redeliver


def count_test(request: HttpRequest, member: Member) -> None:
    count(request, "webhook-test", f"customer {member.customer_id}", TESTS)


def _own(member: Member, pk: int) -> Webhook:
    return get_object_or_404(store.webhooks_of(member.customer_id), pk=pk)


def _to(pk: int) -> HttpResponse:
    return redirect("portal:webhook", pk)


_buttons = Buttons(_own, "portal:webhook", "portal:webhooks")

send_test = _buttons.button(
    "tested",
    "The test is being sent: reload this page in a few seconds",
    lambda pk: services.send_test(pk, now=timezone.now()),
    limited=True,
)
rotate_secret = _buttons.button(
    "rotated the secret of",
    "New secret made; for a day requests are signed with the old one as well",
    lambda pk: services.rotate_secret(pk, now=timezone.now()),
)
enable = _buttons.button("enabled", "Events are posted to it again", services.enable)
disable = _buttons.button(
    "disabled", "Nothing is posted to it until it is enabled", services.disable
)


delete = _buttons.delete(services.delete)
redeliver = _buttons.redeliver("delivered again to")


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
    return redirect("portal:webhooks")
