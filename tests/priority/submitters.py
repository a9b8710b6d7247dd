"""Customers that submit the same transactions, and what becomes of those."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from solders.transaction import VersionedTransaction

from access import store as access_store
from access.models import ApiKey, Tier
from access.services import keys
from alerts.services import rules, webhooks
from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.services import settling
from priority.fates.store.settling import FoundRow
from priority.lander.services.active_submissions import active_submission
from priority.lander.services.rows import bundle_row, submission_rows
from priority.lander.store.submissions import insert_bundles, insert_submissions
from priority.models import Submission
from priority.submissions import Accepted
from tests.alerts.conftest import Receiver
from tests.priority.sending import SENT, result, text

Door = Callable[..., Any]
NOW = datetime.now(UTC)


class Customer:
    """A key, and the receiver of a rule on all fates of its customer's."""

    def __init__(self, key: ApiKey, secret: str | None) -> None:
        self.key, self.secret, self.receiver = key, secret, Receiver()
        hook = webhooks.create(key.customer_id, name="hook", url=self.receiver.url)
        now = datetime.now(UTC)
        rules.create(
            *(key.customer_id,), name="r", trigger="submission", condition={}, webhook=hook, now=now
        )

    def heard(self) -> list[tuple[str, Any, Any]]:
        """(type, key, bundle) of each event so far."""
        contents = [json.loads(body) for _path, _headers, body in self.receiver.got]
        return [(c["type"], c["data"]["keyId"], c["data"]["bundleId"]) for c in contents]


def another_key(name: str) -> keys.IssuedKey:
    tier = Tier.objects.order_by("-rank")[0]
    return keys.issue_key(access_store.customer_by_name(name), tier=tier, name=name)


def send(door: Door, sent: VersionedTransaction, secret: str | None) -> None:
    assert result(door("/priority", "sendTransaction", text(sent), SENT, key=secret))


def stored(sent: VersionedTransaction, key: ApiKey | None) -> None:
    Submission.objects.create(
        signature=sent.signatures[0],
        kind="transaction",
        key=key,
        blockhash=sent.message.recent_blockhash,
        accepted_at=datetime.now(UTC),
        state="sent",
        sent_at=datetime.now(UTC),
    )


def land(*sent: VersionedTransaction) -> None:
    found = [FoundRow(bytes(each.signatures[0]), 7, index, None) for index, each in enumerate(sent)]
    settling.settle_found(found, now=datetime.now(UTC))


def fate(door: Door, name: str, **key: Any) -> Any:
    """The fate, or the reason why none is told."""
    answer = door("/priority", "getTransactionFate", name, **key).json()
    return answer["result"] if "result" in answer else answer["error"]["data"]["reason"]


def read_by_a_lander(transaction: VersionedTransaction, key: ApiKey, *, in_bundle: bool) -> None:
    _read_by_a_lander([transaction], key, in_bundle=in_bundle)


def bundle_read_by_a_lander(transactions: list[VersionedTransaction], key: ApiKey) -> str:
    """The bundle's id."""
    _read_by_a_lander(transactions, key, in_bundle=True)
    return bundle_id_of([bytes(each.signatures[0]) for each in transactions])


def _read_by_a_lander(
    transactions: list[VersionedTransaction], key: ApiKey, *, in_bundle: bool
) -> None:
    signatures = [bytes(each.signatures[0]) for each in transactions]
    submission = active_submission(
        b"0-1",
        Accepted(
            kind="bundle" if in_bundle else "transaction",
            signatures=signatures,
            wires=[bytes(each) for each in transactions],
            received_at=NOW.timestamp(),
            key_id=key.pk,
            tier="basic",
            edge="here",
            request_id="",
            bundle_id=bundle_id_of(signatures) if in_bundle else "",
        ),
    )
    bundles = insert_bundles([bundle_row(submission)] if in_bundle else [])
    rows = submission_rows(submission)
    for row in rows:
        row.bundle_id = next(iter(bundles.values()), None)
    insert_submissions(rows)
