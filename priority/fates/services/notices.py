"""Who learns of changes of fates: each customer that submitted the same transaction, and by events
of final fates, and of submissions that are not sent or watched any more.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solders.signature import Signature

from access.models import ApiKey
from access.store import keys_by_id
from alerts.services import submission_rules
from alerts.services.events import publish
from alerts.services.key_events import key_data
from priority.fates.reasons import for_others
from priority.fates.services.announcing import FateChange
from priority.fates.store import cosubmitters
from priority.fates.store.settling import WATCH_ENDED
from priority.submissions import State


def publish_stopped(changes: Iterable[FateChange]) -> None:
    """Publishes those of the changes that say why a submission is not sent any more, once a day for
    each. Call it in the transaction that stores the changes.
    """
    stopped = [each for each in changes if each.stopped]
    if not stopped:
        return
    numbers = {each.key_id for each in stopped if each.key_id is not None}
    keys = {key.pk: key for key in keys_by_id(numbers)}
    for each in stopped:
        key = None if each.key_id is None else keys.get(each.key_id)
        if key is not None:
            _publish(key, each)


def publish_settled(changes: Iterable[FateChange]) -> None:
    """Publishes final fates as the rules of their keys' customers say. Call it in the transaction
    that stores the changes.
    """
    settled = [each for each in changes if each.settled]
    if settled:
        fates = [_fate(each, each.key_id) for each in settled if each.key_id is not None]
        submission_rules.publish_fates(fates, now=settled[0].at)


def _fate(change: FateChange, key_id: int) -> submission_rules.Fate:
    return submission_rules.Fate(
        key_id=key_id,
        signature=str(Signature(change.signature)),
        state=change.state,
        slot=change.slot,
        transaction_index=change.transaction_index,
        err=change.err,
        reason=change.reason,
        bundle_id=change.bundle_id,
    )


def _publish(key: ApiKey, change: FateChange) -> None:
    signature = str(Signature(change.signature))
    if change.stopped == WATCH_ENDED:
        kind = "submission.watch_ended"
        text = f"The service no longer watches the nonce of {signature}: its fate stays unknown."
    else:
        kind = "submission.stopped"
        text = (
            f"The service no longer sends {signature}: {change.stopped}. This is not final: it can"
            " land as long as its nonce has not moved on, and the service still watches that."
        )
    publish(
        kind,
        about=f"transaction {signature}",
        text=text,
        data={
            **key_data(key),
            "signature": signature,
            "bundleId": change.bundle_id or None,
            "reason": change.stopped,
        },
        now=change.at,
        customer_id=key.customer_id,
        # A lander that takes over from another says it again.
        once=f"{kind} {signature} {change.at:%Y-%m-%d} {key.customer_id}",
        subject=submission_rules.subject_of(signature),
    )


class Shared(NamedTuple):
    """A change as another submitter than that of the row learns of it; `is_first` for one key of
    each other customer.
    """

    change: FateChange
    is_first: bool


def shared(changes: Sequence[FateChange]) -> list[Shared]:
    """The changes for the other keys that submitted the same, in the order in which they did. How
    the first one had it sent is not for them.
    """
    found = cosubmitters.others([each.signature for each in changes])
    return [
        Shared(
            each._replace(
                key_id=other.key_id,
                bundle_id=other.bundle_id,
                queue_ms=None,
                reason=for_others(each.reason, refused=each.state is State.REFUSED),
                stopped=for_others(each.stopped, refused=False),
            ),
            other.is_first,
        )
        for each in changes
        for other in found.get(each.signature, ())
        if other.key_id != each.key_id
    ]


def once_each(others: Iterable[Shared]) -> list[FateChange]:
    """The changes, one for each other customer."""
    return [each.change for each in others if each.is_first]
