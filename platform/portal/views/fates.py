"""Outcomes of a customer's submissions: the newest, one transaction, one bundle."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from solders.signature import Signature

from chain.shown_text import escaped
from portal import fate_texts, store
from portal.models import Member
from portal.services import own_fates
from portal.views.pages import for_members, page
from portal.views.replays import of_own_fate, replays_of, sending_again
from priority.fates.admin.fates import OUTCOME_HUES, slots_later, state_badge
from priority.fates.reasons import STATE_TEXTS
from priority.fates.results import Fate, FateAttempt
from priority.models import Attempt
from priority.submissions import State
from rewind.explained.admin.explained import explained_of
from staff.beginnings import beginning_in
from staff.formatting import (
    after,
    ago,
    badge,
    grouped,
    lamports,
    milliseconds,
    moment,
    utc,
    with_sol,
)
from staff.parsing import id_in

_A_PAGE = 50
_ATTEMPTS_SHOWN = 200


@for_members
def fates(request: HttpRequest, member: Member) -> HttpResponse:
    """The newest submissions, and the search."""
    asked = request.GET.get("q", "").strip()
    if asked:
        return _found(request, asked)
    state = request.GET.get("state", "")
    state = state if state in list(State) else ""
    rows = store.newest_submissions(
        member.customer_id,
        state=state,
        before=id_in(request.GET.get("before")),
        limit=_A_PAGE + 1,
    )
    now = timezone.now()
    context = {
        "rows": [
            {
                "signature": str(row.signature),
                "state": state_badge(row.state, row.reason, final=row.settled_at is not None),
                "key": row.key,
                "slot": row.slot,
                "tip": lamports(row.tip_lamports),
                "attempts": grouped(row.tries),
                "at": ago(row.accepted_at, now),
            }
            for row in rows[:_A_PAGE]
        ],
        "older": rows[_A_PAGE - 1].pk if len(rows) > _A_PAGE else None,
        "is_later_page": "before" in request.GET,
        "state": state,
        "states": list(State),
        "searched": grouped(store.SEARCHED),
        "kept_days": settings.SUBMISSION_DAYS,
    }
    return page(request, "portal/fates.html", context)


def _found(request: HttpRequest, asked: str) -> HttpResponse:
    """Redirects to the page of a signature or bundle id."""
    bundle = len(asked) == 64 and all(each in "0123456789abcdef" for each in asked)
    if bundle:
        return HttpResponseRedirect(reverse("portal:bundle", args=[asked]))
    try:
        signature = Signature.from_string(asked)
    except ValueError:
        if beginning_in(asked) is not None:
            find = urlencode({"q": asked})
            return HttpResponseRedirect(f"{reverse('portal:find')}?{find}")
        messages.error(
            request,
            "Neither a signature (base58, 86 to 88 characters) nor a bundle id (64 digits of"
            " lower-case hex), nor the first 6 characters or more of one",
        )
        return HttpResponseRedirect(reverse("portal:fates"))
    return HttpResponseRedirect(reverse("portal:fate", args=[str(signature)]))


@for_members
@of_own_fate
def fate(request: HttpRequest, member: Member, asked: str) -> HttpResponse:
    """One submission: outcome and attempts."""
    found, name = own_fates.own_fate(member.customer_id, asked), Signature.from_string(asked)
    context: dict[str, Any] = {
        "submission": _submission(found),
        "key": store.key_of_submission(member.customer_id, bytes(name)),
        "replays": replays_of(member, [name]),
    }
    if found.state == State.FAILED:
        context["again"] = sending_again(request, name)
    return page(request, "portal/fate.html", context)


@for_members
@of_own_fate
def bundle(request: HttpRequest, member: Member, asked: str) -> HttpResponse:
    """A bundle, and its transactions in their order."""
    found = own_fates.own_bundle_fate(member.customer_id, asked)
    signatures = [Signature.from_string(each.signature) for each in found.transactions]
    context = {
        "bundle_id": found.bundle_id,
        "state": state_badge(found.state, found.reason, final=found.final),
        "sentence": STATE_TEXTS[State(found.state)],
        "explained": fate_texts.explained(found.state, found.reason),
        "reason": found.reason,
        "slot": found.slot,
        "engine_ids": found.engine_ids,
        "accepted": moment(_at(found.accepted_at), seconds=True),
        "key": store.key_of_submission(member.customer_id, bytes(signatures[0])),
        "transactions": [_submission(each) for each in found.transactions],
        "replays": replays_of(member, signatures),
    }
    return page(request, "portal/bundle.html", context)


def _submission(fate: Fate) -> dict[str, Any]:
    attempts = fate.attempts if isinstance(fate.attempts, list) else []
    attempts = sorted(attempts, key=lambda each: each.started_at)
    return {
        "row": fate,
        "state": state_badge(fate.state, fate.reason, final=fate.final),
        "sentence": STATE_TEXTS[State(fate.state)],
        "pace": ""
        if fate.slots_after_acceptance is None
        else f"It was included {slots_later(fate.slots_after_acceptance)}.",
        "explained": fate_texts.explained(fate.state, fate.reason),
        "account": explained_of(
            Signature.from_string(fate.signature),
            err=fate.err,
            tip_lamports=None if fate.tip is None else fate.tip.lamports,
            tip_address=None if fate.tip is None else str(fate.tip.address),
            in_block=fate.slot is not None,
        ),
        "err": None if fate.err is None else escaped(json.dumps(fate.err)),
        "tip": None if fate.tip is None else with_sol(fate.tip.lamports),
        "steps": _steps(fate),
        "attempts": [_attempt(each, fate.accepted_at) for each in attempts[:_ATTEMPTS_SHOWN]],
        "more_attempts": len(attempts) > _ATTEMPTS_SHOWN,
    }


def _steps(fate: Fate) -> list[tuple[str, str, str]]:
    """(what happened, how long after acceptance, when)."""
    seen = "Seen in a block" if fate.slot is None else f"Seen in slot {fate.slot}"
    accepted = (
        "Accepted" if fate.accepted_slot is None else f"Accepted in slot {fate.accepted_slot}"
    )
    steps = [
        (accepted, fate.accepted_at),
        ("First sent", fate.sent_at),
        (seen, fate.seen_at),
        ("Settled", fate.settled_at),
    ]
    return [
        (text, after(at - fate.accepted_at), utc(_at(at), seconds=True))
        for text, at in steps
        if at is not None
    ]


def _attempt(each: FateAttempt, accepted_at: float) -> dict[str, Any]:
    return {
        "row": each,
        "outcome": badge(each.outcome, OUTCOME_HUES[Attempt.Outcome(each.outcome)]),
        "after": after(each.started_at - accepted_at),
        "took": milliseconds(each.latency_microseconds / 1e3),
        "at": utc(_at(each.started_at), seconds=True),
    }


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
