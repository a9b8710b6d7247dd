"""How the admin's pages say what became of a submission or a bundle."""

from django.utils.safestring import SafeString

from priority.models import Bundle, Submission
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
_SETTLED = "Settled"
_OPEN = "Not settled yet"


def state_word(row: Submission | Bundle) -> SafeString:
    """The state in its colour; while it may still change, with how deep it is."""
    text = row.state
    hint = row.reason or (_SETTLED if row.settled_at else _OPEN)
    if isinstance(row, Submission) and row.commitment and not row.settled_at:
        text = f"{row.state}, {row.commitment}"
    hue = HUES.get(State(row.state), "quiet")
    if hue == "good" and not row.settled_at:
        hue = "warning"
    return badge(text, hue, hint)


def in_words(submission: Submission) -> str:
    """Its fate as a sentence."""
    told = _SENTENCES.get(State(submission.state))
    if told is None:
        how = "Landed" if submission.state == State.LANDED else "Landed with an error"
        index = submission.transaction_index
        place = "" if index is None else f", transaction {index}"
        depth = f" ({submission.commitment})" if submission.commitment else ""
        told = f"{how} in slot {submission.slot}{place}{later(submission)}{depth}."
    if submission.reason:
        told += f" Reason: {submission.reason}."
    return told


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
