"""Fates on durable nonces: settled by what moves the nonce in a finalized block, by its finalized
state, and never by the clock.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.transaction import VersionedTransaction

from access.models import ApiKey
from alerts.models import Event
from ingest.services import fates
from priority.fates.services import retention
from priority.models import Bundle, Submission
from rewind.recording.services import filters
from tests.ingest.made_chain import fate, store
from tests.ingest.made_nonces import (
    NONCE,
    OTHER,
    advance,
    block,
    by_other,
    durable,
    nonce_write,
    on_nonce,
    submitted_on,
)
from tests.priority.sending import MINIMUM, PAYER, SENT, queued, signed, text, tip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

Rpc = Callable[..., dict[str, Any]]
OPEN = ("sent", "", None, None, None, False)
EXPIRED = ("expired", "", None, None, None, True)
MAKER = signed(tip(9), blockhash=durable(100))
# Moves the nonce from the first hash to the second.
MOVER = on_nonce(1, lamports=77)


def name(transaction: VersionedTransaction) -> str:
    return str(transaction.signatures[0])


def raw(transaction: VersionedTransaction) -> bytes:
    return bytes(transaction.signatures[0])


def begin(last: int = 3, *, number: int | None = 1, **fields: Any) -> None:
    """A chain from its genesis on, in whose slot 2 the nonce gets its hash."""
    store(block(0), block(1))
    store(block(2, [MAKER], [nonce_write(number, raw(MAKER), **fields)]))
    go_on(3, last)


def go_on(first: int, last: int) -> None:
    store(*(block(slot) for slot in range(first, last + 1)))


def settle(*, later: timedelta = timedelta()) -> None:
    fates.settle_due(node=None, now=timezone.now() + later)


def test_no_clock_ends_a_nonce(rpc: Rpc) -> None:
    transaction = on_nonce(1)
    row = submitted_on(transaction, stopped="patience_over: it was sent for long")
    begin(900)
    for hours in (0, 1, 48):
        settle(later=timedelta(hours=hours))
        assert fate(row) == OPEN
    told = rpc("/priority", "getTransactionFate", name(transaction))["result"]
    assert (told["final"], told["sending"]) == (False, "stopped")
    assert told["sendingStopped"].startswith("patience_over")
    assert told["nonceAccount"] == str(NONCE)
    store(block(901, [transaction], [nonce_write(2, raw(transaction))]))
    assert fate(row) == ("landed", "finalized", 901, 0, None, True)
    told = rpc("/priority", "getTransactionFate", name(transaction))["result"]
    assert (told["final"], told["sending"], told["sendingStopped"]) == (True, None, None)


@pytest.mark.parametrize("with_writes", [True, False])
@pytest.mark.parametrize("err", [None, {"InstructionError": [1, {"Custom": 1}]}])
def test_the_block_that_moves_a_nonce_settles_all_others_on_it(
    with_writes: bool, err: Any, rpc: Rpc
) -> None:
    """At once, with or without account writes, and a failed transaction moves it too."""
    same = [on_nonce(1, lamports=number) for number in (1, 2)]
    rows = [submitted_on(each) for each in same]
    other = submitted_on(on_nonce(1, nonce=OTHER.pubkey()))
    never_sent = submitted_on(
        on_nonce(1, lamports=3), state="received", sent_at=None, reason="upstream_refused: busy"
    )
    begin()
    mover = submitted_on(MOVER)
    writes = [nonce_write(2, raw(MOVER))] if with_writes else None
    store(block(4, [MOVER], writes, err=err))
    assert [fate(row) for row in rows] == [EXPIRED] * 2
    assert fate(never_sent)[0] == "refused"
    assert fate(mover)[:3] == ("landed" if err is None else "failed", "finalized", 4)
    assert fate(other) == OPEN
    why = f"nonce_moved: {NONCE} has another hash since slot 4, by {name(MOVER)}"
    assert rows[0].reason == rows[1].reason == never_sent.reason == why
    told = rpc("/priority", "getTransactionFate", name(same[0]))["result"]
    assert (told["final"], told["reason"]) == (True, why)


def test_a_newer_hash_than_what_is_final_is_waited_for() -> None:
    """It was signed on a confirmed state: the finalized one still has the hash before it."""
    begin(number=1)
    row = submitted_on(on_nonce(2), accepted_slot=6)
    settle()
    store(block(4, [MOVER], [nonce_write(2, raw(MOVER))]))
    settle()
    assert fate(row) == OPEN
    go_on(5, 12)
    settle(later=timedelta(seconds=5))
    assert fate(row) == OPEN


def changed(number: int | None, **fields: Any) -> Any:
    return lambda: ([MAKER_2], [nonce_write(number, raw(MAKER_2), **fields)])


MAKER_2 = signed(tip(10), blockhash=durable(101))
WAYS = {
    "nonce_moved": changed(5),
    "nonce_closed": changed(None),
    "nonce_invalid": changed(1, data=bytes(80)),
    "nonce_authority": changed(1, authority=OTHER.pubkey()),
}


@pytest.mark.parametrize("word", WAYS)
def test_each_way_in_which_a_nonce_is_lost_settles_with_its_block(word: str) -> None:
    """By a program's call too, whose transaction stands on an ordinary blockhash."""
    begin(9)
    row = submitted_on(on_nonce(1))
    transactions, writes = WAYS[word]()
    store(block(10, transactions, writes))
    assert fate(row) == EXPIRED
    assert row.reason.startswith(f"{word}: {NONCE} ")
    assert row.reason.endswith(f" since slot 10, by {name(MAKER_2)}")


@pytest.mark.parametrize("word", WAYS)
def test_what_was_lost_before_it_was_stored_is_settled_by_the_state(word: str) -> None:
    begin(9)
    transactions, writes = WAYS[word]()
    store(block(10, transactions, writes))
    row = submitted_on(on_nonce(1), accepted_slot=10)
    settle()
    if word == "nonce_authority":
        assert fate(row) == OPEN, "what is final is older than what its sender may have seen"
        go_on(11, 14)
        settle(later=timedelta(seconds=5))
    assert fate(row) == EXPIRED
    assert row.reason.startswith(f"{word}: {NONCE} ")
    assert row.reason.endswith(f" since slot 10, by {name(MAKER_2)}")


def test_what_may_have_landed_in_a_gap_is_not_called_lost() -> None:
    transaction = on_nonce(1)
    begin(5)
    row = submitted_on(transaction)
    store(block(7), block(8, [MAKER_2], [nonce_write(5, raw(MAKER_2))]), *map(block, (9, 10)))
    settle(later=timedelta(seconds=5))
    assert fate(row) == OPEN
    store(block(6, [transaction], [nonce_write(2, raw(transaction))]))
    assert fate(row) == ("landed", "finalized", 6, 0, None, True)


def test_without_the_archive_the_blocks_settle_it() -> None:
    filters.filter_account(NONCE, filtered=True)
    begin(9)
    row, late = submitted_on(on_nonce(1)), submitted_on(on_nonce(3))
    store(block(10, [MOVER], [nonce_write(2, raw(MOVER))]))
    assert fate(row) == EXPIRED
    assert fate(late) == EXPIRED


def test_a_bundle_ends_with_its_nonces() -> None:
    begin(9)
    rows = [submitted_on(on_nonce(1, lamports=number), kind="bundle") for number in (1, 2)]
    made = Bundle.objects.create(bundle_id=f"{7:064}", accepted_at=timezone.now())
    Submission.objects.update(bundle=made)
    settle()
    made.refresh_from_db()
    assert made.settled_at is None
    store(block(10, [MOVER], [nonce_write(2, raw(MOVER))]))
    made.refresh_from_db()
    assert [fate(row) for row in rows] == [EXPIRED] * 2
    assert made.state == "expired" and made.settled_at and made.reason.startswith("nonce_moved")


def test_a_watch_ends_with_the_time_for_which_submissions_are_kept(rpc: Rpc) -> None:
    transaction = on_nonce(1)
    row = submitted_on(transaction, key=ApiKey.objects.get())  # the caller's
    begin(9)
    kept = timedelta(days=7)
    retention.forget(kept, now=timezone.now() + timedelta(days=6))
    row.refresh_from_db()
    assert row.is_watched
    retention.forget(kept, now=timezone.now() + timedelta(days=8))
    told = rpc("/priority", "getTransactionFate", name(transaction))["result"]
    assert (told["final"], told["sending"]) == (False, "stopped")
    assert "unknown, watch ended" in told["reason"]
    notice = Event.objects.get()
    assert (notice.kind, notice.data["signature"]) == ("submission.watch_ended", name(transaction))
    retention.forget(kept, now=timezone.now() + timedelta(days=15))
    assert not Submission.objects.exists()


def send(rpc: Rpc, transaction: VersionedTransaction) -> dict[str, Any]:
    return rpc("/priority", "sendTransaction", text(transaction), SENT)


def refused(rpc: Rpc, transaction: VersionedTransaction) -> str:
    answer = send(rpc, transaction)
    assert answer["error"]["code"] == -32602 and not queued()
    data = answer["error"]["data"]
    assert data["reason"] == "nonce_unusable" and data["nonceAccount"] == str(NONCE)
    assert str(NONCE) in answer["error"]["message"]
    assert (data["movedInSlot"], data["movedBy"]) == (10, name(MAKER_2))
    return str(data["cause"])


@pytest.mark.parametrize("word", WAYS)
def test_what_the_finalized_nonce_cannot_take_is_refused_at_once(word: str, rpc: Rpc) -> None:
    begin(9)
    transactions, writes = WAYS[word]()
    store(block(10, transactions, writes))
    assert refused(rpc, on_nonce(1)) == word


def test_a_nonce_that_moved_and_then_closed_is_closed_since_then(rpc: Rpc) -> None:
    begin(9)
    closer = signed(tip(11), blockhash=durable(102))
    store(block(10, [MAKER_2], [nonce_write(5, raw(MAKER_2))]))
    store(block(11, [closer], [nonce_write(None, raw(closer))]))
    data = send(rpc, on_nonce(1))["error"]["data"]
    assert data["cause"] == "nonce_closed"
    assert (data["movedInSlot"], data["movedBy"]) == (11, name(closer))


def test_a_block_that_was_not_seen_may_have_moved_it(rpc: Rpc) -> None:
    begin(9)
    store(block(11, [MAKER_2], [nonce_write(5, raw(MAKER_2))]))
    error = send(rpc, on_nonce(1))["error"]
    assert error["data"]["cause"] == "nonce_moved" and " since " not in error["message"]
    assert (error["data"]["movedInSlot"], error["data"]["movedBy"]) == (None, None)
    store(block(10))
    error = send(rpc, on_nonce(1))["error"]
    assert (error["data"]["movedInSlot"], error["data"]["movedBy"]) == (11, name(MAKER_2))


def test_what_the_nonce_may_take_is_accepted(rpc: Rpc) -> None:
    begin(9)
    good = [on_nonce(1), on_nonce(2), on_nonce(1, nonce=OTHER.pubkey())]
    for transaction in good:
        assert send(rpc, transaction)["result"] == name(transaction)
    # It moved its nonce itself, and is answered as before.
    store(block(10, [good[0]], [nonce_write(2, raw(good[0]))]))
    assert send(rpc, good[0])["result"] == name(good[0])
    assert len(queued()) == 3
    wrong = rpc("/priority", "sendTransaction", text(by_other(2)), SENT)["error"]
    assert wrong["data"]["cause"] == "nonce_authority"
    assert "has another authority since slot 10" in wrong["message"]


def test_several_signers_count_as_one_authority_among_them(rpc: Rpc) -> None:
    begin(9, authority=OTHER.pubkey())
    assert send(rpc, by_other(1))["result"]
    assert refused_by_authority(rpc, on_nonce(1))


def refused_by_authority(rpc: Rpc, transaction: VersionedTransaction) -> bool:
    return bool(send(rpc, transaction)["error"]["data"]["cause"] == "nonce_authority")


def test_a_misplaced_advance_is_named_in_the_fate() -> None:
    misplaced = signed(tip(MINIMUM), advance(), blockhash=durable(1))
    row = Submission.objects.create(
        signature=raw(misplaced),
        kind="transaction",
        blockhash=bytes(durable(1)),
        accepted_at=timezone.now() - timedelta(minutes=1),
        accepted_slot=3,
        last_valid_block_height=150,
        advance_index=1,
        state="sent",
        sent_at=timezone.now(),
    )
    begin(155)
    settle()
    assert fate(row) == EXPIRED
    assert row.reason.startswith("blockhash_expired: instruction 1 advances a nonce")
    assert PAYER.pubkey() in misplaced.message.account_keys
