"""A customer's event rules: the list, one with its deliveries, and actions."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from alerts.admin.states import rule_state
from alerts.conditions import TITLES, Trigger, described, read_condition
from alerts.models import Rule
from alerts.rule_store import rules_of
from alerts.services import rules as services
from alerts.store import addresses_of
from portal import store
from portal.forms.rules import ReplayForm, RuleForm
from portal.models import Member
from portal.views.pages import (
    action_of_owners,
    attempt,
    changed_by_owners,
    for_members,
    for_owners,
    page,
)
from portal.views.webhooks import DELIVERIES, Buttons, count_test, logged
from staff import audit, outgoing_mail
from staff.changes import between
from staff.formatting import counted


@for_members
def rules(request: HttpRequest, member: Member) -> HttpResponse:
    """All rules."""
    rows = [_row(each) for each in rules_of(member.customer_id)]
    most = services.most_rules()
    context = {"rows": rows, "most": most, "is_full": len(rows) >= most}
    return page(request, "portal/rules.html", context)


def _row(rule: Rule) -> dict[str, Any]:
    to = [] if rule.webhook is None else [rule.webhook.name]
    return {
        "row": rule,
        "trigger": TITLES[Trigger(rule.trigger)],
        "condition": described(read_condition(rule.trigger, rule.condition)),
        "state": rule_state(rule),
        "to": ", ".join([*to, *(["mail"] if rule.mails else [])]),
    }


@for_owners
def add(request: HttpRequest, member: Member) -> HttpResponse:
    """The form of a new rule with the trigger of the query; without one: the triggers."""
    trigger = request.GET.get("trigger", "")
    if trigger not in TITLES:
        return page(request, "portal/rule_add.html", {"triggers": TITLES.items()})
    form = _form(request, member, trigger)
    if request.method == "POST" and form.is_valid():
        with attempt(request, form) as attempted:
            new = services.create(
                member.customer_id, trigger=trigger, now=timezone.now(), **form.values()
            )
            audit.record(request, "added", new, text="in the portal")
        if attempted.done:
            messages.success(request, f"Added {new}. Send a test now")
            return _to(new.pk)
    context = {"form": form, "trigger": TITLES[Trigger(trigger)]}
    return page(request, "portal/rule_add.html", context)


@changed_by_owners
def rule(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """One rule with its newest deliveries; its form changes it."""
    found, now = _own(member, pk), timezone.now()
    form = _form(request, member, found.trigger, found)
    if request.method == "POST" and form.is_valid():
        with attempt(request, form) as attempted:
            given = form.values()
            before = {name: getattr(found, name) for name in given}
            changed = services.edit(pk, **given)
            changes = between(before, changed)
            audit.record(request, "changed", changed, text="in the portal", changes=changes)
        if attempted.done:
            messages.success(request, f"Changed {changed}")
            return _to(pk)
    context = {
        "rule": found,
        "row": _row(found),
        "form": form,
        "replay_form": ReplayForm.of_last_day(now),
        "deliveries": logged(found, now, member, "portal:rule_redeliver"),
        "shown": DELIVERIES,
        "sends_mails": outgoing_mail.is_sent(),
    }
    return page(request, "portal/rule.html", context)


def _form(request: HttpRequest, member: Member, trigger: str, rule: Rule | None = None) -> RuleForm:
    initial = None
    if rule is not None:
        initial = {
            **rule.condition,
            "name": rule.name,
            "webhook": rule.webhook_id or "",
            "mails": "on" if rule.mails else "",
        }
    return RuleForm(
        request.POST or None,
        initial=initial,
        trigger=trigger,
        keys=store.keys_of(member.customer_id),
        webhooks=store.webhooks_of(member.customer_id),
        addresses=", ".join(addresses_of(member.customer_id)),
    )


def _own(member: Member, pk: int) -> Rule:
    return get_object_or_404(rules_of(member.customer_id), pk=pk)


def _to(pk: int) -> HttpResponse:
    return redirect("portal:rule", pk)


_buttons = Buttons(_own, "portal:rule", "portal:rules")

send_test = _buttons.button(
    "tested",
    "The test is being sent: reload this page in a few seconds",
    lambda pk: services.send_test(pk, now=timezone.now()),
    limited=True,
)
enable = _buttons.button(
    "enabled",
    "Events are published again",
    lambda pk: services.enable(pk, now=timezone.now()),
)
disable = _buttons.button(
    "disabled", "No events are published until it is enabled", services.disable
)


@action_of_owners
def replay(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """Delivers the events of some time again."""
    found, form = _own(member, pk), ReplayForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose when the replay begins, and which deliveries it sends")
        return _to(pk)
    count_test(request, member)
    now = timezone.now()
    with attempt(request) as attempted:
        queued = services.replay(
            pk,
            since=form.cleaned_data["since"],
            until=form.cleaned_data["until"] or now,
            states=form.states,
            now=now,
        )
        text = f"in the portal: {counted(queued, 'delivery', 'deliveries')}"
        audit.record(request, "replayed", found, text=text)
    if attempted.done:
        messages.success(request, f"Sending {counted(queued, 'delivery', 'deliveries')} again")
    return _to(pk)


delete = _buttons.delete(services.delete)
redeliver = _buttons.redeliver("delivered again of")
