"""Events about submissions: final fates, and those that are not sent or watched any more."""

from collections.abc import Iterable

from solders.signature import Signature

from access.models import ApiKey
from access.store import keys_by_id
from alerts.services import submission_rules
from alerts.services.events import publish
from alerts.services.key_events import key_data
from priority.fates.services.announcing import FateChange
from priority.fates.store.settling import WATCH_ENDED


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
