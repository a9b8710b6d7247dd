"""What must not make a fate on a durable nonce final: states that may be older than what the sender
saw, states of a moment, nodes that know less than they say, and blockhashes that are ordinary.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from django.utils import timezone
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b58encode, b64encode
from ingest.services import fates
from priority.fates.services import retention
from priority.lander.services.active_submissions import active_submission
from priority.lander.services.rows import bundle_row, submission_rows
from priority.lander.store.submissions import insert_bundles, insert_submissions
from priority.submissions import Accepted
from rewind.recording.services import filters
from shared_state.redis_client import client
from tests.ingest.made_chain import fate, store
from tests.ingest.made_nonces import (
    NONCE,
    OTHER,
    advance,
    block,
    nonce_write,
    on_nonce,
    submitted_on,
)
from tests.ingest.test_nonces import (
    EXPIRED,
    MAKER,
    MAKER_2,
    MOVER,
    OPEN,
    begin,
    go_on,
    name,
    raw,
    settle,
)
from tests.patience import PATIENCE_SECONDS
from tests.priority.landing import upstream
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import queued, signed, text, tip
from tests.priority.test_landing_nonces import events
from tests.rewind.samples import blockhash
from upstream.node import Node

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def test_what_our_stream_was_too_late_for_is_not_taken_for_the_newest_state() -> None:
    """The slot at acceptance is the stream's, which may stand still while the chain goes on."""
    at = int(timezone.now().timestamp())
    store(*(block(slot, time=at - 600 + slot) for slot in (0, 1)))
    store(block(2, [MAKER], [nonce_write(1, raw(MAKER))], time=at - 598))
    transaction = on_nonce(2)
    row = submitted_on(transaction, accepted_slot=3)
    store(*(block(slot, time=at - 600 + slot) for slot in range(3, 20)))
    settle(later=timedelta(minutes=5))
    assert fate(row) == OPEN
    store(block(20, [MOVER], [nonce_write(2, raw(MOVER))], time=at - 580))
    settle(later=timedelta(minutes=10))
    assert fate(row) == OPEN
    store(block(21, [transaction], [nonce_write(3, raw(transaction))], time=at))
    assert fate(row) == ("landed", "finalized", 21, 0, None, True)


def test_without_a_slot_at_acceptance_the_blocks_time_counts() -> None:
    at = int(timezone.now().timestamp())
    store(*(block(slot, time=at - 600 + slot) for slot in (0, 1)))
    store(block(2, [MAKER], [nonce_write(1, raw(MAKER))], time=at - 598))
    row = submitted_on(on_nonce(7), accepted_slot=None)
    settle(later=timedelta(hours=1))
    assert fate(row) == OPEN, "by the clock"
    store(block(3, time=at - 30))
    settle(later=timedelta(hours=1))
    assert fate(row) == OPEN, "the blocks before are not known"
    seen = submitted_on(on_nonce(1, lamports=1), accepted_slot=None)
    store(block(4, [MAKER_2], [nonce_write(2, raw(MAKER_2))], time=at - 29))
    settle(later=timedelta(hours=1))
    assert fate(seen) == OPEN


def test_an_authority_that_is_given_back_at_once_ends_nothing() -> None:
    begin(9)
    row = submitted_on(on_nonce(1))
    away = [
        nonce_write(1, raw(MAKER_2), authority=OTHER.pubkey()),
        nonce_write(1, raw(MAKER_2))._replace(write_version=2),
    ]
    store(block(10, [MAKER_2], away))
    settle(later=timedelta(seconds=5))
    assert fate(row) == OPEN


@pytest.mark.parametrize("followed", [True, False])
def test_a_late_block_tells_nothing_of_an_authority(followed: bool) -> None:
    if not followed:
        filters.filter_account(NONCE, filtered=True)
    begin(9)
    row = submitted_on(on_nonce(1))
    back = signed(tip(11))
    store(block(11, [back], [nonce_write(1, raw(back))]))
    store(block(10, [MAKER_2], [nonce_write(1, raw(MAKER_2), authority=OTHER.pubkey())]))
    settle(later=timedelta(seconds=5))
    assert fate(row) == OPEN


def ordinary(slot: int, lamports: int = 0) -> Any:
    """It advances a nonce first, and stands on that slot's blockhash: an ordinary transaction."""
    recent = Hash.from_string(blockhash(slot))
    return signed(advance(), tip(1_000_000 + lamports), blockhash=recent)


def test_an_advance_on_an_ordinary_blockhash_ends_with_the_blockhash() -> None:
    """The chain looks among recent blockhashes first, and runs it like any other."""
    begin(9)
    row, twin, lost = (submitted_on(ordinary(5, number)) for number in (1, 2, 3))
    settle(later=timedelta(seconds=5))
    assert fate(row) == OPEN
    landed = ordinary(5, 1)
    store(block(10, [landed], [nonce_write(2, raw(landed))]))
    assert fate(row)[0] == "landed"
    assert fate(twin) == OPEN, "it can still advance the nonce once more"
    landed = ordinary(5, 2)
    store(block(11, [landed], [nonce_write(3, raw(landed))]))
    assert fate(twin)[0] == "landed"
    go_on(12, 155)
    settle(later=timedelta(seconds=5))
    assert fate(lost) == OPEN
    go_on(156, 157)
    settle(later=timedelta(seconds=15))
    assert fate(lost) == EXPIRED
    assert lost.reason.startswith("blockhash_expired: ")


def answers(**results: Any) -> Any:
    """A node's answers by method; an exception's text is an error."""

    def answer(body: bytes) -> tuple[int, bytes]:
        result = results[msgspec.json.decode(body)["method"]]
        return 200, msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})

    return answer


def account(number: int, slot: int, **fields: Any) -> dict[str, Any]:
    made = nonce_write(number, None, **fields)
    value = {
        "lamports": made.lamports,
        "owner": b58encode(made.owner),
        "data": [b64encode(made.data), "base64"],
        "executable": False,
        "rentEpoch": 0,
        "space": 80,
    }
    return {"context": {"slot": slot}, "value": [value]}


def statuses(slot: int, *found: Any) -> dict[str, Any]:
    return {"context": {"slot": slot}, "value": list(found)}


KNOWS_NONE = {
    "getMultipleAccounts": account(5, 1_030),
    "getSignatureStatuses": statuses(1_040, None),
    "getFirstAvailableBlock": 0,
    "getBlockHeight": 900,
}


def ask(**results: Any) -> None:
    with odd_node(answers(**{**KNOWS_NONE, **results})) as odd:
        node = Node(odd.url, timeout_seconds=PATIENCE_SECONDS)
        fates.settle_due(node=node, now=timezone.now() + timedelta(minutes=6))


def unfollowed(**columns: Any) -> Any:
    """Submitted on a nonce that the archive does not follow; the ledger has a gap."""
    filters.filter_account(NONCE, filtered=True)
    begin(9)
    row = submitted_on(on_nonce(1), **columns)
    go_on(12, 60)
    return row


def test_a_nodes_state_settles_it_where_the_archive_does_not_follow() -> None:
    row = unfollowed()
    ask()
    assert fate(row) == EXPIRED
    assert row.reason == f"nonce_moved: {NONCE} has another hash at slot 1030"


WRONG: dict[str, dict[str, Any]] = {
    "an older state": {"getMultipleAccounts": account(5, 6)},
    "while it may be a blockhash": {"getMultipleAccounts": account(5, 900)},
    "the same state": {"getMultipleAccounts": account(1, 1_030)},
    "no history": {"getFirstAvailableBlock": 20},
    "statuses of before the state": {"getSignatureStatuses": statuses(1_020, None)},
    "a transaction that is not final": {
        "getSignatureStatuses": statuses(
            1_040, {"slot": 39, "err": None, "confirmations": 3, "confirmationStatus": "confirmed"}
        )
    },
    "too few accounts": {"getMultipleAccounts": {"context": {"slot": 30}, "value": []}},
    "no account": {"getMultipleAccounts": {"context": {"slot": 30}, "value": ["nonsense"]}},
    "no slot": {"getMultipleAccounts": {"context": {"slot": -1}, "value": [None]}},
    "no statuses": {"getSignatureStatuses": statuses(1_040)},
    "nothing": {"getMultipleAccounts": None},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_node_that_knows_less_or_talks_nonsense_settles_nothing(case: str) -> None:
    row = unfollowed()
    ask(**WRONG[case])
    assert fate(row) == OPEN


def test_a_node_that_lags_behind_a_submission_without_a_slot_settles_nothing() -> None:
    row = unfollowed(accepted_slot=None)
    ask()
    assert fate(row) == OPEN


def test_a_node_says_that_it_landed() -> None:
    row = unfollowed()
    status = {"slot": 11, "err": None, "confirmations": None, "confirmationStatus": "finalized"}
    ask(getSignatureStatuses=statuses(1_040, status))
    assert fate(row) == ("landed", "finalized", 11, None, None, True)
    assert name(on_nonce(1)) == str(row.signature)


def test_the_end_of_a_watch_is_an_event_and_the_same_bytes_are_watched_again(
    rpc: Any, issue: Any
) -> None:
    transaction, key = on_nonce(1), issue().key
    row = submitted_on(transaction, key=key)
    begin(9)
    now = timezone.now()
    retention.forget(timedelta(days=7), now=now + timedelta(days=8))
    (event,) = events(key.pk)
    assert (event["signature"], event["state"]) == (name(transaction), "sent")
    assert (event["final"], event["sending"]) == (False, "stopped")
    assert event["sendingStopped"] == event["reason"]
    assert "unknown, watch ended" in event["reason"]
    # Its bytes are accepted again.
    active = active_submission(b"", accepted(transaction, now + timedelta(days=8), key.pk))
    new, _ = insert_submissions(submission_rows(active))
    assert new == {raw(transaction): row.pk}
    row.refresh_from_db()
    assert (row.is_watched, row.stopped, row.reason, row.state) == (True, "", "", "received")
    store(block(10, [MOVER], [nonce_write(2, raw(MOVER))]))
    assert events(key.pk)[-1]["final"]


def test_what_is_final_stays_so_when_it_is_accepted_again(rpc: Any, issue: Any) -> None:
    """As after Redis has lost what it knew: `received` would be a change."""
    other = Pubkey.new_unique()
    for nonce in (NONCE, other):
        filters.filter_account(nonce, filtered=True)
    upstream("engine", "block_engine")
    pair = [on_nonce(1), on_nonce(1, nonce=other)]
    begin(9)
    bundle = rpc("/bundle", "sendBundle", [text(each) for each in pair], {"encoding": "base64"})
    assert "result" in bundle
    (entry,) = queued()
    active = active_submission(b"", entry)
    pks = insert_bundles([bundle_row(active)])
    rows = submission_rows(active)
    for row in rows:
        row.bundle_id, row.accepted_slot = pks[entry.bundle_id], 3
    insert_submissions(rows)
    store(block(10, [MOVER], [nonce_write(2, raw(MOVER), nonce=each) for each in (NONCE, other)]))
    told = rpc("/bundle", "getBundleFate", entry.bundle_id)["result"]
    alone = rpc("/priority", "getTransactionFate", name(pair[0]))["result"]
    assert told["final"] and alone["final"]
    client().flushdb()
    rpc("/bundle", "sendBundle", [text(each) for each in pair], {"encoding": "base64"})
    (again,) = queued()
    for _ in ("in the queue", "stored"):
        assert rpc("/bundle", "getBundleFate", entry.bundle_id)["result"] == told
        assert rpc("/priority", "getTransactionFate", name(pair[0]))["result"] == alone
        active = active_submission(b"", again)
        insert_bundles([bundle_row(active)])
        insert_submissions(submission_rows(active))


def accepted(transaction: VersionedTransaction, at: datetime, key_id: int) -> Accepted:
    signatures, wires = [raw(transaction)], [bytes(transaction)]
    return Accepted("transaction", signatures, wires, at.timestamp(), key_id, "", "", "")
