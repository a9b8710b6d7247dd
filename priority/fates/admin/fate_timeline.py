"""The timeline of one submission, its outcome, and advice."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.html import format_html
from django.utils.safestring import SafeString

from priority.fates.admin.fates import OUTCOME_HUES, in_words, later, state_label
from priority.fates.reasons import OURS, REASONS, name_of
from priority.models import Attempt, Submission
from priority.submissions import State
from rewind.explained.admin.explained import explained_of
from rewind.replay.admin.replay_pages import replays_of
from staff.formatting import badge, in_units, link, milliseconds, plain, with_sol
from tipping.models import TipAddress, TipSweep, TipSweepPart

_ATTEMPTS_SHOWN = 200
# What the operator can do, beside what its sender can (priority.fates.reasons).
_OPERATORS = {
    "no_upstream": "No enabled upstream serves its tier: enable one, then have it sent again.",
    "upstream_rests": "Every upstream of its tier was in cooldown: see their circuit breakers.",
    "upstream_busy": "Its upstream had too many attempts in progress: add another upstream or"
    " lander.",
    "own_tip_unfunded": "The fee payer of our own tips to the block engine is empty: fund it.",
    "no_schedule": "The leader schedule was unknown: check that the node of the upstream answers.",
    "no_address": "No upcoming leader has a reachable port: send by nodes or block engines.",
    "never_sent": "No lander sent it in time: check that one runs, and its upstreams.",
}
_ADVICE_BY_STATE = {
    State.FAILED: "It is on chain and paid its fee: the error comes from a program or an account."
    " Sending the same transaction again changes nothing.",
    State.EXPIRED: "It can no longer land: sign it again with a new blockhash, and a higher"
    " tip or priority fee where blocks were full.",
    State.REFUSED: "No upstream accepted it: the responses below say why. Fix that, then sign it"
    " again with a new blockhash.",
}


class Moment(NamedTuple):
    """One event of the timeline."""

    at: datetime
    hue: str
    title: SafeString | str
    detail: SafeString | str


def fate_of(row: Submission, *, now: datetime) -> dict[str, Any]:
    """For admin/priority/submission/fate.html."""
    attempts = list(row.attempts.order_by("started_at", "pk")[: _ATTEMPTS_SHOWN + 1])
    address = _address(row)
    moments = sorted(
        [*_moments(row), *map(_attempt, attempts[:_ATTEMPTS_SHOWN]), *_sweeps(address, row)],
        key=lambda moment: moment.at,
    )
    return {
        "fate": {
            "badge": state_label(row),
            "sentence": in_words(row),
            "advice": advice(row),
            "moments": [(each, (each.at - row.accepted_at).total_seconds()) for each in moments],
            "more_attempts": len(attempts) > _ATTEMPTS_SHOWN,
            "attempts_shown": _ATTEMPTS_SHOWN,
            "waits": "" if row.settled_at else _waits(row),
            "tip": _tip(row, address),
            "siblings": _siblings(row),
            "explained": explained_of(
                row.signature,
                err=row.err,
                tip_lamports=row.tip_lamports,
                tip_address=None if row.tip_address is None else str(row.tip_address),
                in_block=row.slot is not None,
            ),
            "replay": replays_of([row.signature]) if row.slot is not None else None,
        }
    }


def advice(row: Submission) -> str:
    """What to do about it; empty if nothing."""
    if row.state in (State.EXPIRED, State.REFUSED):
        name = name_of(row.reason)
        if name in _OPERATORS:
            return _OPERATORS[name]
        if name in REASONS and REASONS[name].advice != OURS:
            return REASONS[name].advice
    return _ADVICE_BY_STATE.get(State(row.state), "")


def _moments(row: Submission) -> Iterator[Moment]:
    slot = "" if row.accepted_slot is None else f"slot {row.accepted_slot}"
    yield Moment(row.accepted_at, "quiet", "received and accepted", slot)
    if row.seen_at is not None and row.slot is not None:
        index = "" if row.transaction_index is None else f", transaction {row.transaction_index}"
        hue = "good" if row.state == State.LANDED else "bad"
        yield Moment(row.seen_at, hue, "seen in a block", f"slot {row.slot}{index}{later(row)}")
    if row.settled_at is not None:
        hue = "good" if row.state == State.LANDED else "bad"
        title = f"{row.commitment or row.state}, final"
        yield Moment(row.settled_at, hue, title, plain(row.reason))


def _attempt(each: Attempt) -> Moment:
    took = milliseconds(each.latency_us / 1e3)
    outcome = badge(each.outcome, OUTCOME_HUES[Attempt.Outcome(each.outcome)])
    title = format_html("round {}: {} {} in {}", each.number, each.upstream, outcome, took)
    made_for = ""
    if each.made_for is not None:
        by = f"with key {each.made_for}" if each.made_for else "without a key"
        made_for = f"for the submission {by}"
    detail = ": ".join(text for text in (made_for, each.target, each.answer) if text)
    return Moment(each.started_at, OUTCOME_HUES[Attempt.Outcome(each.outcome)], title, detail)


def _address(row: Submission) -> TipAddress | None:
    if row.tip_address is None:
        return None
    return TipAddress.objects.select_related("batch").filter(pk=row.tip_address).first()


def _sweeps(address: TipAddress | None, row: Submission) -> Iterator[Moment]:
    """The sweep of its tip address after it landed."""
    if address is None or row.seen_at is None or row.state != State.LANDED:
        return
    parts = TipSweepPart.objects.filter(
        address=address, sweep__state=TipSweep.State.LANDED, sweep__slot__gt=row.slot or 0
    )
    part = parts.select_related("sweep").order_by("sweep__slot").defer("sweep__wire").first()
    if part is None or part.sweep.settled_at is None:
        return
    text = f"{with_sol(part.lamports)} of its address"
    swept = link(text, "tipping_tipsweep_change", part.sweep_id)
    detail = format_html("{}, slot {}", swept, part.sweep.slot)
    yield Moment(part.sweep.settled_at, "quiet", "tip swept to the treasury", detail)


def _waits(row: Submission) -> str:
    if row.is_nonced and row.stopped:
        return f"It is not sent any more, and can still land: {row.stopped}."
    if row.is_nonced:
        return "It uses a durable nonce and does not expire."
    if row.last_valid_block_height is None:
        return "Its last valid block height is not known yet."
    return f"It can land until block height {row.last_valid_block_height}."


def _tip(row: Submission, address: TipAddress | None) -> SafeString | str:
    if row.tip_lamports is None:
        return ""
    amount = with_sol(row.tip_lamports)
    if address is None:
        return f"{amount} to a static address"
    batch = link(f"batch {address.batch.number}", "tipping_tipbatch_change", address.batch_id)
    ttl = in_units(address.batch.ttl_seconds)
    return format_html("{} to an address of class {}, {}", amount, ttl, batch)


def _siblings(row: Submission) -> list[tuple[Submission, SafeString]]:
    if row.bundle_id is None:
        return []
    rows = Submission.objects.filter(bundle=row.bundle_id).order_by("bundle_index", "pk")
    return [(each, state_label(each)) for each in rows[:8]]
