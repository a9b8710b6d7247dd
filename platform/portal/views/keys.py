"""A customer's keys: the list, issuing, one key's page, and its actions."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from access import secret_cookies
from access.admin import key_panel
from access.admin.key_formatting import key_badge, scopes_of
from access.admin.usage_panel import narrowing, report_of
from access.callers import SCOPES, Quota
from access.key_states import KeyState, state_of
from access.models import ApiKey
from access.services import monthly_quotas, parked_secrets
from access.services.key_activity import DAYS, Activity, activity
from access.services.keys import IssuedKey
from access.usage_queries import Asked
from portal import store
from portal.formatting import quota_of
from portal.forms.keys import ExtendForm, IssueForm, KeyForm, RotateForm
from portal.models import Member
from portal.services import key_actions, key_rights
from portal.views.pages import (
    action_of_developers,
    attempt,
    carry_out,
    changed_by_developers,
    count,
    for_developers,
    for_members,
    page,
)
from staff import audit
from staff.changes import between
from staff.formatting import ago, timed, utc
from staff.sparklines import sparkline

# Each makes rows that are never deleted.
ISSUES = Quota(rate=30 / 3600, burst=30)
_SHOWN = 200


@for_members
def keys(request: HttpRequest, member: Member) -> HttpResponse:
    """All keys, active ones first."""
    now = timezone.now()
    found = list(store.keys_of(member.customer_id)[: _SHOWN + 1])
    calls = activity([key.pk for key in found[:_SHOWN]], now)
    usages = monthly_quotas.usages_of_customer(member.customer_id, now)
    quotas = {each.key_id: quota for each in usages if (quota := quota_of(each)) is not None}
    rows = [
        {**_row(key, now), "calls": _calls(calls[key.pk]), "quota": quotas.get(key.pk)}
        for key in found[:_SHOWN]
    ]
    context = {
        "valid": [row for row in rows if row["is_valid"]],
        "ended": [row for row in rows if not row["is_valid"]],
        "cut": len(found) > _SHOWN,
        "may_issue": bool(key_rights.models_of(found, now)),
        "most": key_actions.MOST_KEYS,
        "days": DAYS,
        "has_quotas": bool(quotas),
        "compares": len(rows) > 1,
    }
    return page(request, "portal/keys.html", context)


def _calls(found: Activity) -> Any:
    return sparkline(found.parts, what=f"counted calls in {DAYS} days")


def _row(key: ApiKey, now: Any) -> dict[str, Any]:
    return {
        "key": key,
        "state": key_badge(key, now),
        "is_valid": state_of(key, now=now) not in (KeyState.REVOKED, KeyState.EXPIRED),
        "scopes": scopes_of(key),
        "networks": ", ".join(key.networks) or "any address",
        "origins": ", ".join(key.origins) or "any page, and any program",
        "creator": key.created_by or "the operator",  # type: ignore[attr-defined]
        "used": ago(key.last_used_at, now),
        "expires": ago(key.expires_at, now),
    }


@for_developers
def issue(request: HttpRequest, member: Member) -> HttpResponse:
    """The form of a new key."""
    now = timezone.now()
    models = key_rights.models_of(store.keys_of(member.customer_id), now)
    if not models:
        return page(request, "portal/no_key_to_follow.html", {})
    suggested = key_rights.given(models[0])
    scopes = {scope for key in models for scope in key_rights.given(key).scopes}
    initial = {
        "scopes": suggested.scopes,
        "expires_at": suggested.expires_at,
        "like": models[0].pk,
    }
    form = IssueForm(request.POST or None, models=models, scopes=tuple(scopes), initial=initial)
    if request.method == "POST" and form.is_valid():
        count(request, "issue", f"customer {member.customer_id}", ISSUES)
        like = next(key for key in models if key.pk == form.cleaned_data["like"])
        wish = _wish(form, key_rights.given(like).expires_at)

        def run() -> IssuedKey:
            new = key_actions.issue(member.customer_id, like=like.pk, wish=wish, now=now)
            audit.record(request, "issued", new.key, text="in the portal")
            return new

        return _show_secret(request, run) or page(
            request, "portal/key_issue.html", {"form": form}, status=409
        )
    return page(request, "portal/key_issue.html", {"form": form})


@changed_by_developers
def key(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """One key: its usage first; the form changes it."""
    found, now = _own(member, pk), timezone.now()
    rights = key_rights.given(found)
    initial = {
        "name": found.name,
        "environment": found.environment,
        "scopes": found.scopes,
        "networks": found.networks,
        "origins": found.origins,
        "methods": found.methods,
        "requests_per_second": found.requests_per_second,
        "expires_at": found.expires_at,
    }
    offered = tuple(scope for scope in SCOPES if scope in (*rights.scopes, *found.scopes))
    form = KeyForm(request.POST or None, scopes=offered, initial=initial)
    if request.method == "POST" and form.is_valid():
        with attempt(request) as attempted:
            wish = _wish(form, found.expires_at)
            changed = key_actions.edit(member.customer_id, pk, wish=wish, now=now)
            changes = between(initial, changed)
            audit.record(request, "changed", changed, text="in the portal", changes=changes)
        if attempted.done:
            messages.success(request, f"Changed {changed}; this applies within two seconds")
            return HttpResponseRedirect(reverse("portal:key", args=[pk]))
    state = state_of(found, now=now)
    context = {
        "row": _row(found, now),
        "key": found,
        "form": form,
        "rotate_form": RotateForm(),
        "extend_form": ExtendForm(),
        "usage": report_of(request, Asked(found.pk, **narrowing(request))),
        **key_panel.panel(found, now),
        "created": ago(found.created_at, now),
        "after": getattr(found, "rotated_to", None),
        "before": found.rotated_from,
        "is_over": state is KeyState.REVOKED,
        "may_rotate": state not in (KeyState.REVOKED, KeyState.EXPIRED)
        and not key_rights.is_rotated(found),
        "may_suspend": found.suspended_at is None and state is not KeyState.REVOKED,
        "may_resume": found.suspended_at is not None
        and state is not KeyState.REVOKED
        and not key_rights.is_suspended_by_staff(found),
        "by_staff": key_rights.is_suspended_by_staff(found),
        "bounds": timed(_bounds(rights)),
    }
    return page(request, "portal/key.html", context)


def _bounds(rights: key_rights.Given) -> str:
    """The most that the operator gave the key, as the form's hint."""
    lines = []
    if rights.expires_at is not None:
        lines.append(f"It can be valid until {utc(rights.expires_at)} at most.")
    if rights.methods:
        lines.append(f"It can call at most {', '.join(rights.methods)}.")
    if rights.requests_per_second is not None:
        lines.append(f"It can make at most {rights.requests_per_second:,g} calls a second.")
    return " ".join(lines)


def _wish(form: KeyForm, standing: Any) -> key_actions.Wish:
    given = form.cleaned_data
    return key_actions.Wish(
        name=given["name"],
        environment=given["environment"],
        scopes=given["scopes"],
        networks=given["networks"],
        origins=given["origins"],
        methods=given["methods"],
        requests_per_second=given["requests_per_second"],
        expires_at=form.expiry(standing),
    )


@action_of_developers
def rotate(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """Issues a new key; the old one stays valid for the overlap."""
    found, form = _own(member, pk), RotateForm(request.POST)
    back = HttpResponseRedirect(reverse("portal:key", args=[pk]))
    if not form.is_valid():
        messages.error(
            request, f"Overlap in hours: {' '.join(map(str, form.errors['overlap_hours']))}"
        )
        return back
    count(request, "issue", f"customer {member.customer_id}", ISSUES)
    overlap = timedelta(hours=form.cleaned_data["overlap_hours"])

    def run() -> IssuedKey:
        new = key_actions.rotate(member.customer_id, pk, overlap=overlap, now=timezone.now())
        audit.record(request, "rotated", found, text=f"in the portal; overlap {overlap}")
        audit.record(request, "issued", new.key, text="in the portal, by rotation")
        return new

    return _show_secret(request, run) or back


@action_of_developers
def extend_overlap(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    """The old key of a rotation works some hours longer."""
    found, form, now = _own(member, pk), ExtendForm(request.POST), timezone.now()
    back = HttpResponseRedirect(reverse("portal:key", args=[pk]))
    if not form.is_valid():
        messages.error(request, f"Hours more: {' '.join(map(str, form.errors['more_hours']))}")
        return back
    until = (found.expires_at or now) + timedelta(hours=form.cleaned_data["more_hours"])
    run = partial(key_actions.extend_overlap, member.customer_id, pk, until=until, now=now)
    said = f"{found} works until {utc(until)}"
    carry_out(request, found, "extended the overlap of", run, said=said)
    return back


def _show_secret(request: HttpRequest, run: Callable[[], IssuedKey]) -> HttpResponse | None:
    """Redirects to the page with the secret; None, with a message, if refused."""
    with attempt(request) as attempted:
        # In one transaction with the parking, so that no secret is lost.
        token = parked_secrets.park([run()], owner=str(request.user.pk))
    if not attempted.done:
        return None
    return secret_cookies.lead_to(reverse("portal:issued"), token)


def _action(verb: str, action: Callable[..., ApiKey]) -> Callable[..., HttpResponseBase]:
    """A button of a key's page."""

    @action_of_developers
    def press(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
        found = _own(member, pk)
        run = partial(action, member.customer_id, pk, now=timezone.now())
        said = f"{found} is {verb}; this applies within two seconds"
        carry_out(request, found, verb, run, said=said)
        return HttpResponseRedirect(reverse("portal:key", args=[pk]))

    return press


suspend = _action("suspended", key_actions.suspend)
resume = _action("resumed", key_actions.resume)
revoke = _action("revoked", key_actions.revoke)
end_overlap = _action("ended", key_actions.end_overlap)


def _own(member: Member, pk: int) -> ApiKey:
    return get_object_or_404(store.keys_of(member.customer_id), pk=pk)
