"""Sends a submission to all its upstreams at once, repeatedly, until it lands or expires."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic

from priority.lander.budget import ResendBudget
from priority.lander.chain_view import Chain
from priority.lander.services.active_submissions import ActiveSubmission, NewAttempt
from priority.lander.services.routing import chosen
from priority.lander.services.senders import Delivery, NotNow
from priority.lander.services.upstreams import ActiveUpstream, Upstreams
from priority.models import Attempt
from priority.submissions import State
from upstream.submitting import Refused, SubmitError, Unwilling
from upstream.tpu_errors import Backlogged, ClientClosed, Resting, TooLarge, TpuError

log = logging.getLogger(__name__)

# A slot; where slots are very short or long, these seconds. The longest pause is five times that.
_LEAST_FIRST_PAUSE, _MOST_FIRST_PAUSE = 0.2, 1.0
_PAUSE_GROWTH = 1.5
_LONGEST_PAUSE = 5
# A submission for which the budget has nothing left waits twice as long each time, this often.
_MOST_DOUBLINGS = 5
# A bundle is worth another auction each slot or two.
_BUNDLE_PAUSE_SLOTS = 1.5
_LEAST_BUNDLE_PAUSE_SECONDS = 0.1


@dataclass(slots=True)
class _Round:
    """The attempts of one submission at one time; `is_tried` if at least one was really sent."""

    number: int
    started_at: datetime
    under_way: int = 0
    is_tried: bool = False


@dataclass(slots=True, eq=False)
class _UnderWay:
    """An attempt without an answer yet."""

    submission: ActiveSubmission
    upstream: ActiveUpstream
    target: str
    round: _Round
    began: float


class FanOut:
    """Sends submissions. `changed` is called with each one whose row must be updated, `begun` with
    each one whose first attempt began, and `answered` with each one whose first attempt an upstream
    answered or that needs none: it no longer counts as waiting.
    """

    def __init__(
        self,
        upstreams: Upstreams,
        chain: Chain,
        changed: Callable[[ActiveSubmission], None],
        begun: Callable[[ActiveSubmission], None],
        answered: Callable[[ActiveSubmission], None],
    ) -> None:
        self._upstreams = upstreams
        self._chain = chain
        self._changed = changed
        self._begun = begun
        self._no_longer_waits = answered
        self._under_way = 0
        # Not sent yet because no upstream had capacity: the first one goes with the next answer.
        self._waiting: dict[ActiveSubmission, None] = {}
        self._budget = ResendBudget()
        self._is_closed = False
        self._is_over = False  # answers are no longer recorded
        self._all_answered = asyncio.Event()
        self.sent = 0
        self.last_error = ""

    def run(self, submission: ActiveSubmission) -> None:
        """One round now, and further rounds on a timer."""
        submission.stop()
        submission.is_held = False
        if self._is_closed:
            return
        if submission.is_done or submission.is_on_chain or not submission.has_tries_left:
            self._waiting.pop(submission, None)
            self._no_longer_waits(submission)
            return
        try:
            if not self._is_too_late(submission):
                self._round_in_budget(submission)
            else:
                self._waiting.pop(submission, None)
                self._no_longer_waits(submission)
        finally:
            if submission.has_tries_left:
                self._later(submission)

    def landed(self) -> None:
        """A submission was seen in a block: that allows others to be sent again."""
        self._budget.landed()

    def ahead(self) -> None:
        """A new slot began: connects to the next leaders."""
        self._upstreams.ahead()

    async def close(self) -> None:
        """Stops sending and waits up to a second for answers."""
        self._is_closed = True
        if self._under_way:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_answered.wait(), 1.0)
        self._is_over = True

    def _is_too_late(self, submission: ActiveSubmission) -> bool:
        """Whether its blockhash is too old for the next block, by the chain or by the clock."""
        head = self._chain.height_now(_now())
        return head is not None and submission.is_too_old(head + 1, self._chain, _now())

    def _later(self, submission: ActiveSubmission) -> None:
        loop = asyncio.get_running_loop()
        if submission.is_bundle:
            pause = max(self._chain.slot_seconds * _BUNDLE_PAUSE_SLOTS, _LEAST_BUNDLE_PAUSE_SECONDS)
        else:
            first = min(max(self._chain.slot_seconds, _LEAST_FIRST_PAUSE), _MOST_FIRST_PAUSE)
            growth = _PAUSE_GROWTH ** max(0, min(submission.tries, 9) - 1)
            pause = first * min(growth, _LONGEST_PAUSE)
        pause *= 2 ** min(submission.put_off, _MOST_DOUBLINGS)
        submission.timer = loop.call_later(pause, self.run, submission)

    def _round_in_budget(self, submission: ActiveSubmission) -> None:
        if not submission.tries and not submission.is_sent:
            self._round(submission)
        elif not self._budget.take(_now()):
            submission.put_off += 1
        else:
            submission.put_off, tries = 0, submission.tries
            self._round(submission)
            if submission.tries == tries:
                self._budget.give_back()

    def _round(self, submission: ActiveSubmission) -> None:
        loop = asyncio.get_running_loop()
        now, this = loop.time(), _Round(submission.tries + 1, datetime.now(UTC))
        why_not, is_busy = "", False
        for upstream in chosen(self._upstreams.active, submission.accepted):
            if not upstream.window.has_capacity(again=submission.is_sent):
                why_not = why_not or f"upstream_busy: {upstream.row.name}"
                is_busy = True
                continue
            if not upstream.breaker.allows(now, seconds=upstream.seconds):
                why_not = (
                    why_not or f"upstream_rests: {upstream.row.name}: {upstream.breaker.reason}"
                )
                continue
            try:
                deliveries = upstream.sender.deliveries(submission)
            except NotNow as error:
                why_not = str(error)
                continue
            for delivery in deliveries:
                self._start(
                    _UnderWay(submission, upstream, delivery.target, this, monotonic()), delivery
                )
        if this.under_way:
            submission.tries = this.number
            # After the deliveries' first steps: one without capacity answers at once.
            loop.call_soon(self._check_begun, submission, this)
        elif not submission.is_sent:
            _explain(submission, why_not or "no_upstream: none that is enabled serves it")
        if (
            not this.under_way
            and is_busy
            and not submission.is_sent
            and not submission.accepted.only
        ):
            self._waiting[submission] = None
        else:
            self._waiting.pop(submission, None)
            if not this.under_way:
                # Upstreams in cooldown, or busy ones that the caller chose, must not delay other
                # submissions.
                self._no_longer_waits(submission)
        self._changed(submission)

    def _run_first_waiting(self) -> None:
        submission = next(iter(self._waiting), None)
        if submission is not None:
            self.run(submission)

    def _check_begun(self, submission: ActiveSubmission, this: _Round) -> None:
        if submission.accepted.only:
            self._no_longer_waits(submission)
        elif this.under_way:
            self._begun(submission)

    def _start(self, attempt: _UnderWay, delivery: Delivery) -> None:
        attempt.submission.under_way += 1
        attempt.round.under_way += 1
        attempt.upstream.window.under_way += 1
        self._under_way += 1
        done = partial(self._answered, attempt)
        try:
            delivery.start(done)
        except Exception as error:
            # Reported after this round, like every answer.
            asyncio.get_running_loop().call_soon(done, error)

    def _answered(self, attempt: _UnderWay, found: str | Exception) -> None:
        if self._is_over:
            return
        submission, upstream = attempt.submission, attempt.upstream
        submission.under_way -= 1
        attempt.round.under_way -= 1
        seconds = monotonic() - attempt.began
        is_tried = not isinstance(found, (Resting, Backlogged, ClientClosed, NotNow))
        if is_tried:
            upstream.window.answered(
                seconds, attempt.began + seconds, most_seconds=upstream.seconds
            )
        upstream.window.under_way -= 1
        self._under_way -= 1
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run_first_waiting)
        if self._is_closed and not self._under_way:
            self._all_answered.set()
        if not is_tried:
            if isinstance(found, Resting):
                upstream.unavailable(_now(), attempt.target, str(found))
            if not isinstance(found, Backlogged) and not attempt.round.under_way:
                self._no_longer_waits(submission)  # or what cannot be sent would delay others
            self._explain_failure(submission, upstream, str(found))
            self._not_tried(submission, attempt.round)
            return
        outcome = self._outcome(attempt, found)
        answer = type(found).__name__ if _is_unforeseen(found) else str(found)
        this = attempt.round
        this.is_tried = True
        self._no_longer_waits(submission)
        latency = int(seconds * 1e6)
        submission.note(
            NewAttempt(
                upstream.row.name,
                attempt.target,
                this.number,
                this.started_at,
                latency,
                outcome,
                answer,
            )
        )
        if outcome is Attempt.Outcome.SENT:
            self._is_sent(submission, this.started_at)
        else:
            self._explain_failure(submission, upstream, answer)
        self._changed(submission)

    def _outcome(self, attempt: _UnderWay, found: str | Exception) -> Attempt.Outcome:
        """The outcome of the attempt; updates the upstream's breaker."""
        upstream = attempt.upstream
        if isinstance(found, str):
            upstream.succeeded()
            return Attempt.Outcome.SENT
        if isinstance(found, (Refused, TooLarge)):
            upstream.succeeded()
            is_known = isinstance(found, Refused) and found.is_known
            return Attempt.Outcome.SENT if is_known else Attempt.Outcome.REFUSED
        if _is_unforeseen(found):
            log.error("upstream %s: an unforeseen failure", upstream.row.name, exc_info=found)
            upstream.failed(_now(), attempt.target, type(found).__name__, None)
            return Attempt.Outcome.FAILED
        retry_after = found.retry_after if isinstance(found, Unwilling) else None
        upstream.failed(_now(), attempt.target, str(found), retry_after)
        is_unwilling = isinstance(found, Unwilling)
        return Attempt.Outcome.REFUSED if is_unwilling else Attempt.Outcome.FAILED

    def _not_tried(self, submission: ActiveSubmission, this: _Round) -> None:
        """Undoes the round if none of its attempts was made."""
        if this.under_way or this.is_tried or submission.tries != this.number:
            return
        submission.tries -= 1
        if submission.timer is None and not submission.is_done:
            self._later(submission)
        self._changed(submission)

    def _is_sent(self, submission: ActiveSubmission, at: datetime) -> None:
        self.sent += 1
        if not submission.is_sent:
            self._budget.sent()
        for transaction in submission.transactions:
            if transaction.sent_at is None:
                transaction.sent_at = at
            if transaction.state is State.RECEIVED:
                transaction.state, transaction.reason = State.SENT, ""
        if submission.is_bundle and not submission.bundle_reason.startswith("engine_dropped"):
            submission.explain_bundle("")

    def _explain_failure(
        self, submission: ActiveSubmission, upstream: ActiveUpstream, answer: str
    ) -> None:
        self.last_error = f"{upstream.row.name}: {answer}"
        reason = "engine_refused" if submission.is_bundle else "upstream_refused"
        _explain(submission, f"{reason}: {upstream.row.name}: {answer}")


def _is_unforeseen(found: str | Exception) -> bool:
    return not isinstance(found, (str, SubmitError, TpuError))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _explain(submission: ActiveSubmission, why: str) -> None:
    """Sets why it is not sent yet. After it is sent its fate says more; a bundle keeps the reason,
    because it is the engine's explanation of why it does not land.
    """
    if submission.is_bundle:
        submission.explain_bundle(why)
        return
    for transaction in submission.transactions:
        if transaction.state is State.RECEIVED:
            transaction.reason = why
