"""Actions on one or many keys: suspend, resume, revoke, rotate."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from access.admin.issued import lead_to
from access.admin.key_formatting import key_badge
from access.admin.key_forms import ExtendForm, OverlapForm
from access.errors import ActionRefused
from access.key_states import KeyState, state_of
from access.models import ApiKey
from access.services import keys, overlaps, parked_secrets
from staff import audit
from staff.actions import AdminAction
from staff.formatting import utc

# Keys of one action: their ids are in the URL.
MOST_KEYS = 200
MOST_COMPARED = 6


def _revoked(key: ApiKey) -> str:
    return "" if key.revoked_at is None else "revoked for good"


def _not_suspendable(request: HttpRequest, key: ApiKey) -> str:
    return _revoked(key) or ("suspended already" if key.suspended_at else "")


def _not_resumable(request: HttpRequest, key: ApiKey) -> str:
    return _revoked(key) or ("" if key.suspended_at else "not suspended")


def _not_rotatable(request: HttpRequest, key: ApiKey) -> str:
    if state_of(key, now=timezone.now()) is KeyState.EXPIRED:
        return "expired: issue a new key"
    if getattr(key, "rotated_to", None) is not None:
        return "rotated before: rotate its successor"
    return _revoked(key)


def _not_in_overlap(request: HttpRequest, key: ApiKey) -> str:
    if getattr(key, "rotated_to", None) is None:
        return "not rotated: it has no successor"
    if overlaps.overlap_of(key, now=timezone.now()) is None:
        return _revoked(key) or "it has ended already"
    return ""


# What is asked for before an action, by the action's name: a form with hours.
_FORMS = {"rotate": OverlapForm, "extend_overlap": ExtendForm}


ACTIONS = {
    action.name: action
    for action in (
        AdminAction(
            "rotate",
            "Rotate",
            "A new key with the same rights is issued and its secret shown once;"
            " the old one stays valid for the overlap.",
            "rotated",
            lambda request, key: None,  # `_rotate` parks all secrets together
            _not_rotatable,
            icon="autorenew",
            permission="rotate",
        ),
        AdminAction(
            "end_overlap",
            "End now",
            "The old key of a rotation stops working within two seconds; its successor goes on.",
            "ended the overlap of",
            lambda request, key: overlaps.end_overlap(key.pk, now=timezone.now()),
            _not_in_overlap,
            icon="timer_off",
            permission="change",
        ),
        AdminAction(
            "extend_overlap",
            "Extend",
            "The old key of a rotation works longer beside its successor.",
            "extended the overlap of",
            lambda request, key: None,  # `carry_out` has the hours
            _not_in_overlap,
            icon="more_time",
            permission="rotate",
        ),
        AdminAction(
            "suspend",
            "Suspend",
            "Calls with the key are answered 403 within two seconds, until it is resumed.",
            "suspended",
            lambda request, key: keys.suspend_key(key.pk, now=timezone.now()),
            _not_suspendable,
            icon="pause",
            permission="change",
        ),
        AdminAction(
            "resume",
            "Resume",
            "The key works again within two seconds.",
            "resumed",
            lambda request, key: keys.resume_key(key.pk, now=timezone.now()),
            _not_resumable,
            icon="play_arrow",
            permission="change",
        ),
        AdminAction(
            "revoke",
            "Revoke",
            "Calls with the key are answered 401 within two seconds, for good:"
            " a revoked key never comes back.",
            "revoked",
            lambda request, key: keys.revoke_key(key.pk, now=timezone.now()),
            lambda request, key: "revoked already" if key.revoked_at else "",
            icon="block",
            permission="change",
            danger=True,
        ),
    )
}


def link_to(action: str, key_ids: list[int]) -> str:
    """The confirmation page."""
    page = reverse("admin:access_apikey_order", args=[action])
    return f"{page}?{urlencode({'ids': ','.join(map(str, key_ids))}, safe=',')}"


def may(model_admin: Any, request: HttpRequest, action: str) -> bool:
    """Rotating issues a key as well, so it takes both permissions; so does what makes the old key
    work longer.
    """
    may_add = action not in _FORMS or model_admin.has_add_permission(request)
    return bool(may_add and model_admin.has_change_permission(request))


def page(model_admin: Any, request: HttpRequest, name: str) -> HttpResponse:
    """GET asks for confirmation, POST does it; `ids` names the keys."""
    action = ACTIONS.get(name)
    if action is None:
        raise Http404
    if not may(model_admin, request, action.name):
        raise PermissionDenied
    now = timezone.now()
    fit, unfit = _asked_for(model_admin, request, action)
    kind = _FORMS.get(action.name)
    form = None if kind is None else kind(request.POST or None)
    if request.method == "POST" and fit and (form is None or form.is_valid()):
        hours = 0 if form is None else sum(form.cleaned_data.values())
        return carry_out(model_admin, request, action, fit, time=timedelta(hours=hours))
    context = {
        "title": f"{action.title} API keys"
        if len(fit) + len(unfit) > 1
        else f"{action.title} API key",
        "action": action,
        "form": form,
        "ids": ",".join(str(key.pk) for key in fit),
        "fit": [(key, key_badge(key, now)) for key in fit],
        "unfit": [(key, action.why_not(request, key)) for key in unfit],
        "back": _back(fit + unfit),
    }
    page: HttpResponse = model_admin.page(request, "admin/access/apikey/action.html", context)
    return page


def carry_out(
    model_admin: Any,
    request: HttpRequest,
    action: AdminAction,
    chosen: list[ApiKey],
    *,
    time: timedelta = timedelta(0),
) -> HttpResponse:
    """Does it to every key that allows it, with a message for each, and redirects. `time` is what
    the action's form asked for.
    """
    if action.name == "rotate":
        return _rotate(model_admin, request, chosen, time)
    done = []
    for key in chosen:
        reason = action.why_not(request, key)
        if reason:
            messages.warning(request, f"{key}: {reason}")
            continue
        try:
            with transaction.atomic():
                if action.name == "extend_overlap":
                    text = _extend(key, time)
                else:
                    text = ""
                    action.run(request, key)
                audit.record(request, action.verb, key, text=text)
        except ActionRefused as refusal:
            messages.warning(request, str(refusal))
            continue
        done.append(key)
    if done:
        what = str(done[0]) if len(done) == 1 else f"{len(done)} keys"
        messages.success(request, f"{what}: {action.verb}")
    return HttpResponseRedirect(_back(chosen))


def _extend(key: ApiKey, time: timedelta) -> str:
    now = timezone.now()
    extended = overlaps.extend_overlap(key.pk, until=(key.expires_at or now) + time, now=now)
    assert extended.expires_at is not None
    return f"It ends {utc(extended.expires_at)}."


def _rotate(
    model_admin: Any, request: HttpRequest, chosen: list[ApiKey], overlap: timedelta
) -> HttpResponse:
    now = timezone.now()
    issued: list[keys.IssuedKey] = []
    refused: list[str] = []
    try:
        # In one transaction with the parking, so that no secret is lost.
        with transaction.atomic():
            for key in chosen:
                reason = _not_rotatable(request, key)
                if not reason:
                    try:
                        issued.append(keys.rotate_key(key.pk, overlap=overlap, now=now))
                    except ActionRefused as refusal:
                        reason = str(refusal)
                    else:
                        new = issued[-1].key
                        ends = utc(min(filter(None, [now + overlap, key.expires_at])))
                        audit.record(
                            request, "rotated", key, text=f"Replaced by {new}; it ends {ends}."
                        )
                        audit.record(request, "added", new, text=f"Issued in place of {key}.")
                if reason:
                    refused.append(f"{key}: {reason}")
            token = parked_secrets.park(issued, owner=str(request.user.pk)) if issued else None
    except ActionRefused as refusal:
        messages.error(request, str(refusal))
        return HttpResponseRedirect(_back(chosen))
    for text in refused:
        messages.warning(request, text)
    return HttpResponseRedirect(_back(chosen)) if token is None else lead_to(token)


def _asked_for(
    model_admin: Any, request: HttpRequest, action: AdminAction
) -> tuple[list[ApiKey], list[ApiKey]]:
    """The named keys: those that allow the action, and the others."""
    text = (request.POST if request.method == "POST" else request.GET).get("ids", "")
    numbers = [part for part in text.split(",") if part.isascii() and part.isdecimal()]
    if not numbers or len(numbers) > MOST_KEYS or max(map(len, numbers)) > 18:
        raise Http404("no keys named, or too many")
    found = (
        model_admin.get_queryset(request)
        .select_related("rotated_to")
        .filter(pk__in=map(int, numbers))
    )
    fit: list[ApiKey] = []
    unfit: list[ApiKey] = []
    for key in found:
        (fit if not action.why_not(request, key) else unfit).append(key)
    if not fit and not unfit:
        raise Http404("no such keys")
    return fit, unfit


def _back(chosen: list[ApiKey]) -> str:
    if len(chosen) == 1:
        return reverse("admin:access_apikey_change", args=[chosen[0].pk])
    return reverse("admin:access_apikey_changelist")
