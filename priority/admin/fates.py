"""Formatting of submissions' and bundles' fates for the admin."""

from django.utils.safestring import SafeString

from priority.models import Attempt, Bundle, Submission
from priority.submissions import State
from staff.formatting import badge

HUES = {
    State.RECEIVED: "quiet",
    State.SENT: "warning",
    State.LANDED: "good",
    State.FAILED: "bad",
    State.EXPIRED: "bad",
    State.REFUSED: "bad",
}
_SENTENCES = {
    State.RECEIVED: "Accepted, and no upstream has it yet.",
    State.SENT: "At least one upstream has it; no block does yet.",
    State.EXPIRED: "In no block, and no block can take it any more.",
    State.REFUSED: "In no block, and no upstream ever took it.",
}
OUTCOME_HUES = {
    Attempt.Outcome.SENT: "good",
    Attempt.Outcome.REFUSED: "bad",
    Attempt.Outcome.FAILED: "warning",
}


def state_word(row: Submission | Bundle) -> SafeString:
    """The state in its colour; while it may still change, with how deep it is."""
    depth = row.commitment if isinstance(row, Submission) else ""
    return state_badge(row.state, row.reason, final=bool(row.settled_at), depth=depth)


def state_badge(
    state: str, reason: str | None, *, final: bool, depth: str | None = ""
) -> SafeString:
    hue = HUES.get(State(state), "quiet")
    text = f"{state}, {depth}" if depth and not final else state
    hint = reason or ("settled" if final else "not settled yet")
    return badge(text, "warning" if hue == "good" and not final else hue, hint)


def in_words(submission: Submission) -> str:
    """Its fate as a sentence."""
    text = _SENTENCES.get(State(submission.state))
    if text is None:
        how = "Landed" if submission.state == State.LANDED else "Landed with an error"
        index = submission.transaction_index
        place = "" if index is None else f", transaction {index}"
        depth = f" ({submission.commitment})" if submission.commitment else ""
        text = f"{how} in slot {submission.slot}{place}{later(submission)}{depth}."
    if submission.reason:
        text += f" Reason: {submission.reason}."
    return text


def slots_after(submission: Submission) -> int | None:
    """Slots from acceptance until it landed."""
    if submission.slot is None or submission.accepted_slot is None:
        return None
    return max(0, int(submission.slot) - int(submission.accepted_slot))


def later(submission: Submission) -> str:
    slots = slots_after(submission)
    if slots is None:
        return ""
    if slots == 0:
        return ", the slot that it was accepted in"
    return f", {slots} slot{'s'[: slots != 1]} after it was accepted"
