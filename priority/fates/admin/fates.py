"""State and outcome of submissions and bundles on pages."""

from django.utils.safestring import SafeString

from priority.fates.reasons import STATE_TEXTS
from priority.models import Attempt, Bundle, Submission
from priority.submissions import IN_A_BLOCK, State
from staff.formatting import badge, counted, plain

HUES = {
    State.RECEIVED: "quiet",
    State.SENT: "warning",
    State.LANDED: "good",
    State.FAILED: "bad",
    State.EXPIRED: "bad",
    State.REFUSED: "bad",
}
OUTCOME_HUES = {
    Attempt.Outcome.SENT: "good",
    Attempt.Outcome.REFUSED: "bad",
    Attempt.Outcome.FAILED: "warning",
}


def state_label(row: Submission | Bundle) -> SafeString:
    """The state as a badge; until it is final, with its commitment."""
    depth = row.commitment if isinstance(row, Submission) else ""
    return state_badge(row.state, row.reason, final=bool(row.settled_at), depth=depth)


def state_badge(
    state: str, reason: str | None, *, final: bool, depth: str | None = ""
) -> SafeString:
    hue = HUES.get(State(state), "quiet")
    text = f"{state}, {depth}" if depth and not final else state
    hint = plain(reason) if reason else "settled" if final else "not settled yet"
    return badge(text, "warning" if hue == "good" and not final else hue, hint)


def in_words(submission: Submission) -> str:
    """The outcome as a sentence."""
    text = STATE_TEXTS[State(submission.state)]
    if submission.state in IN_A_BLOCK:
        how = "Landed" if submission.state == State.LANDED else "Failed on chain"
        index = submission.transaction_index
        place = "" if index is None else f", transaction {index}"
        depth = f" ({submission.commitment})" if submission.commitment else ""
        text = f"{how} in slot {submission.slot}{place}{later(submission)}{depth}."
    if submission.reason:
        text += f" Reason: {plain(submission.reason)}."
    return text


def slots_after(submission: Submission) -> int | None:
    """Slots from acceptance until it landed."""
    if submission.slot is None or submission.accepted_slot is None:
        return None
    return max(0, int(submission.slot) - int(submission.accepted_slot))


def later(submission: Submission) -> str:
    slots = slots_after(submission)
    return "" if slots is None else f", {slots_later(slots)}"


def slots_later(slots: int) -> str:
    """How long after its acceptance a transaction was included in a block."""
    if slots == 0:
        return "in the same slot as its acceptance"
    return f"{counted(slots, 'slot')} after acceptance"
