"""The service under the model of fates: its public door, a lander's rows, and a worker that settles
what it has stored.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.db import transaction
from django.test import TestCase
from hypothesis.stateful import RuleBasedStateMachine

from chain.blocks import SlotRecord
from ingest.services.slots import store_records
from priority.lander.services.active_submissions import ActiveSubmission, active_submission
from priority.lander.services.rows import bundle_row, submission_rows
from priority.lander.store import submissions as store
from priority.submissions import ACCEPTED_STREAM, Accepted, State, pending_key
from shared_state.redis_client import client
from tests.ingest.fate_chain import SECONDS, Chain, Sent
from tests.priority.odd_nodes import OddNode
from tests.priority.sending import SENT, queued, text

Rpc = Callable[..., dict[str, Any]]


class Service(RuleBasedStateMachine):
    """One run, in a transaction of its own. The node and the door are those of the test."""

    chain: Chain
    rpc: Rpc
    node: OddNode
    now_answering: list[Chain]
    counts: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.counts["runs"] += 1
        self._block = transaction.atomic()
        self._block.__enter__()
        client().flushdb()
        self.sent: list[Sent] = []
        self.active: dict[str, ActiveSubmission] = {}
        self.announced: dict[bytes, Any] = {}
        self.bundles: dict[str, Any] = {}
        self.place = "-"

    def accept(self, made: list[Sent], many: int) -> None:
        """Through the public door, and as a lander stores it: its stream may be behind, far behind
        only where blocks have times.
        """
        wires = [text(each.transaction) for each in made]
        if len(made) == 1:
            answer = self.rpc("/priority", "sendTransaction", wires[0], SENT)
        else:
            answer = self.rpc("/bundle", "sendBundle", wires, {"encoding": "base64"})
        if not self.is_accepted(answer, made):
            return
        late = (0, 0, 1, 4, 50 if self.chain.with_times else 2)[many % 5]
        for each in made:
            each.accepted_slot = max(self.chain.slot - late, 0)
        (accepted,) = queued()
        self.take(accepted, made, is_sent=many % 3 > 0)
        self.sent += made

    def is_accepted(self, answer: dict[str, Any], made: list[Sent]) -> bool:
        """Otherwise it is refused because of a nonce that does not have its hash any more."""
        if "error" not in answer:
            return True
        data = answer["error"]["data"]
        assert data["reason"] == "nonce_unusable", answer
        self.counts[f"refused at once: {data['cause']}"] += 1
        assert data["cause"] == "nonce_authority" or any(map(self.chain.is_gone, made))
        return False

    def take(self, accepted: Accepted, made: list[Sent], *, is_sent: bool) -> None:
        client().delete(ACCEPTED_STREAM)
        received_at = self.chain.time() + 0.5
        names = [*accepted.signatures, *filter(None, [bytes.fromhex(accepted.bundle_id)])]
        told = f"{received_at}|{accepted.key_id}"
        client().mset({pending_key(name): told for name in names})
        active = active_submission(b"", msgspec.structs.replace(accepted, received_at=received_at))
        for each, held in zip(made, active.transactions, strict=True):
            held.accepted_slot = each.accepted_slot
            if not held.is_nonced:
                held.last_valid = each.number
            if is_sent:
                held.sent_at, held.state = active.accepted_at, State.SENT
            self.active[each.signature] = active
            each.bundle_id = accepted.bundle_id
        ids = store.insert_bundles([bundle_row(active)]) if active.is_bundle else {}
        rows = submission_rows(active)
        for row in rows:
            row.bundle_id = ids.get(accepted.bundle_id)
        new, _ = store.insert_submissions(rows)
        for each in made:
            if bytes(each.transaction.signatures[0]) in new:
                each.is_watched = True

    def stored(self, records: list[SlotRecord], *, crashes: bool = False) -> None:
        """A worker that crashes does not settle what it has stored."""
        if not records:
            return
        some = list(records)
        with TestCase.captureOnCommitCallbacks(execute=not crashes):
            store_records(some, source="made", now=self.now())
        self.chain.stored |= {record.slot for record in some}
        self.chain.waiting = [each for each in self.chain.waiting if each not in some]

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.chain.time() + SECONDS, UTC)

    def fates(self) -> list[dict[str, Any]]:
        if not self.sent:
            return []
        names = [each.signature for each in self.sent]
        found: list[dict[str, Any]] = self.rpc("/priority", "getTransactionFates", names)["result"]
        return found
