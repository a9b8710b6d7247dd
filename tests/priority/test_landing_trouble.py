"""The lander where things go wrong: refusals, outages, dead forks, dead landers."""

import json
import signal
import threading
import time
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
import redis
from django.conf import settings
from django.db import connection
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from chain.encodings import b58decode
from priority.chain_events import (
    BLOCKHASH_BLOCKS,
    BLOCKHASHES,
    CHAIN_EVENTS_STREAM,
    BlockMade,
    Seen,
    SlotMoved,
)
from priority.lander.services import tracking
from priority.lander.store.chain_events import publish_events
from priority.models import Attempt, Submission
from priority.queue.services.lander_names import landers
from priority.upstreams.models import Upstream
from tests.databases import this_database
from tests.localnet.wallets import on_a_nonce
from tests.localnet_process import Localnet
from tests.lock_waits import until_waiting, waiting_sessions
from tests.patience import PATIENCE_SECONDS, wait
from tests.priority.landing import (
    accept,
    lander,
    reached,
    row,
    start_lander,
    transfer_of,
    upstream,
    waiting,
)
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import advance_nonce, signed, tip

pytestmark = pytest.mark.django_db(transaction=True)


def answered(result: Any = None, error: Any = None) -> bytes:
    told = {"result": result} if error is None else {"error": error}
    return json.dumps({"jsonrpc": "2.0", "id": 1, **told}).encode()


def old_blockhash(localnet: Localnet, blocks_left: int = 100) -> str:
    """One that so many blocks more take, as the follower has told it: ten seconds, in which a busy
    machine, too, tries twice.
    """
    localnet.wait_for_slot(BLOCKHASH_BLOCKS - blocks_left, "confirmed")
    newest = localnet.call("getBlockHeight", {"commitment": "processed"})
    # Slots are heights here, but for those of dead forks.
    slots = localnet.call("getBlocks", newest - BLOCKHASH_BLOCKS + blocks_left, newest)
    block = localnet.call("getBlock", slots[0], {"transactionDetails": "none"})
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.hset(BLOCKHASHES, b58decode(block["blockhash"]), str(block["blockHeight"]))
    text: str = block["blockhash"]
    return text


REFUSAL = answered(error={"code": -32002, "message": "Transaction simulation failed: not today"})


def test_already_processed_counts_as_taken(followed: Localnet, payer: Keypair) -> None:
    error = {"code": -32002, "message": "This transaction has already been processed"}
    with odd_node(lambda body: (200, answered(error=error))) as node, lander(followed):
        upstream("odd", url=node.url)
        assert reached(accept(transfer_of(followed, payer)), "sent").attempts.filter(
            outcome=Attempt.Outcome.SENT
        )


def test_a_failing_node_is_left_alone_and_tried_again_and_staff_may_hurry(
    followed: Localnet, payer: Keypair
) -> None:
    ill = threading.Event()
    ill.set()

    def answer(body: bytes) -> tuple[int, bytes]:
        return (503, b"busy") if ill.is_set() else (200, answered("taken"))

    with odd_node(answer) as node, lander(followed):
        upstream("odd", url=node.url)
        signature = accept(on_a_nonce(followed, payer))
        broken = wait(lambda: Upstream.objects.filter(broken_until__isnull=False).first(), "open")
        assert broken.broken_reason == "HTTP 503" and broken.broken_until > datetime.now(UTC)
        assert wait(lambda: "HTTP 503" in str(landers()["test"]["upstreams"]), "it is published")
        ill.clear()
        asked = len(node.bodies)
        Upstream.objects.update(broken_until=None, broken_reason="")
        found = reached(signature, "sent")
        wait(lambda: len(node.bodies) > asked, "it is asked again")
    assert found.reason == ""
    assert not Upstream.objects.get().broken_until
    assert set(found.attempts.values_list("outcome", flat=True)) >= {"refused"}


def test_leaders_that_take_no_connection_are_told_of_until_they_do_again(
    followed: Localnet, payer: Keypair
) -> None:
    followed.call("setFaults", {"tpu": "refuse"})
    try:
        with lander(followed):
            upstream("leaders", kind="leaders")
            # A leader that refused rests for up to half a minute: no blockhash lives as long here.
            signature = accept(on_a_nonce(followed, payer))
            broken = wait(lambda: Upstream.objects.exclude(broken_reason="").first(), "told")
            assert "does not allow the connection" in broken.broken_reason
            assert not Submission.objects.filter(state__in=("landed", "expired")).exists()
            followed.call("setFaults", {"tpu": "ok"})
            reached(signature, "landed")
            wait(lambda: Upstream.objects.filter(broken_until=None).exists(), "closed again")
    finally:
        followed.call("setFaults", {"tpu": "ok"})


def test_no_retries_are_no_retries(followed: Localnet, payer: Keypair) -> None:
    with odd_node(lambda body: (200, answered("taken"))) as node, lander(followed):
        upstream("odd", url=node.url)
        signature = accept(transfer_of(followed, payer), max_retries=0)
        other = accept(transfer_of(followed, payer), max_retries=1)
        wait(lambda: not waiting(), "all tries were made and are stored")
        found = [reached(each, "sent") for each in (signature, other)]
        time.sleep(0.7)  # in which another try of either would come
    assert [each.tries for each in found] == [1, 2] and len(node.bodies) == 3


def test_without_a_way_nothing_is_lost_and_the_fate_says_why(
    followed: Localnet, payer: Keypair
) -> None:
    with lander(followed):
        signature = accept(on_a_nonce(followed, payer), max_retries=0)
        found = reached(signature, "received")
        assert found.reason == "no_upstream: none that is enabled serves it"
        upstream("node")
        assert reached(signature, "landed").tries == 1


def test_what_was_in_a_dead_fork_is_sent_again(followed: Localnet, payer: Keypair) -> None:
    upstream("node")
    # A fork that lasts until all has been seen of it, and maybe longer than a blockhash.
    transaction = on_a_nonce(followed, payer)
    with lander(followed):
        followed.call("setFaults", {"forkSlots": 1_000})
        try:
            followed.wait(lambda: followed.call("getFaults")["forkSlots"] <= 998, "on the fork")
            signature = accept(transaction)
            first = reached(signature, "landed").slot
        finally:
            followed.call("setFaults", {"forkSlots": 1})
        last = reached(signature, "landed", commitment="confirmed").slot
        assert first is not None and last is not None and first < last
        status = followed.call("getSignatureStatuses", [str(row(signature).signature)])  # type: ignore[union-attr]
        assert status["value"][0]["slot"] == last


def test_a_fork_that_nobody_told_dead_is_left_with_the_next_finalized_slot() -> None:
    payer, now = Keypair(), time.time()
    message = MessageV0.try_compile(payer.pubkey(), [], [], Hash.new_unique())
    transaction = VersionedTransaction(message, [payer])
    with odd_node(lambda body: (200, answered("taken"))) as node, lander(None):
        upstream("odd", url=node.url)
        signature = accept(transaction)
        reached(signature, "sent")
        seen = Seen(100, signature, [0], {})
        publish_events([SlotMoved(98, "finalized"), seen, SlotMoved(100, "processed")], now=now)
        assert reached(signature, "landed").slot == 100
        asked = len(node.bodies)
        # The follower that comes next has never heard of the slot.
        publish_events([SlotMoved(99, "finalized"), SlotMoved(101, "confirmed")], now=now)
        publish_events([SlotMoved(101, "finalized")], now=now)
        assert reached(signature, "sent").slot is None
        wait(lambda: len(node.bodies) > asked, "it is sent again")


def test_what_is_newer_than_a_stream_that_lags_is_sent_for_as_long_as_it_can_land() -> None:
    """The blockhash is of block 130; the stream tells of it after six seconds."""
    payer, blockhash = Keypair(), Hash.new_unique()
    message = MessageV0.try_compile(payer.pubkey(), [], [], blockhash)
    with odd_node(lambda body: (200, answered("taken"))) as node, lander(None):
        upstream("odd", url=node.url)

        def tell(height: int, blockhash: Hash | None = None) -> None:
            name = bytes(blockhash or Hash.new_unique())
            made = BlockMade(1_000 + height, 999 + height, name, height)
            publish_events([made, SlotMoved(1_000 + height, "confirmed")], now=time.time())

        tell(100)
        sent = VersionedTransaction(message, [payer])
        signature = accept(sent, received_at=time.time() - 6)
        assert reached(signature, "sent").last_valid_block_height == 100 + BLOCKHASH_BLOCKS
        tell(130, blockhash)
        tell(275)
        asked = len(node.bodies)
        wait(lambda: len(node.bodies) > asked + 1, "it is still sent")
        last = 130 + BLOCKHASH_BLOCKS
        wait(lambda: row(signature).last_valid_block_height == last, "that is stored")  # type: ignore[union-attr]
        tell(281)
        wait(lambda: not waiting(), "it is over")


def test_another_lander_goes_on_with_an_error_that_only_newer_nodes_know() -> None:
    message = MessageV0.try_compile((payer := Keypair()).pubkey(), [], [], Hash.new_unique())
    transaction = VersionedTransaction(message, [payer])
    error = (250).to_bytes(4, "little") + b"more"
    with odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("odd", url=node.url)
        with lander(None, name="first"):
            signature = accept(transaction)
            reached(signature, "sent")
            publish_events([Seen(100, signature, [3], {0: error})], now=time.time())
            assert reached(signature, "failed").err == {"Unknown": error.hex()}
        with redis.Redis.from_url(settings.REDIS_URL) as client:
            client.delete(CHAIN_EVENTS_STREAM)  # as where the events are older than those it reads
        with lander(None, name="second"):
            publish_events([SlotMoved(100, "confirmed")], now=time.time())
            found = reached(signature, "failed", commitment="confirmed")
            assert (found.slot, found.transaction_index) == (100, 3)
            assert found.err == {"Unknown": error.hex()}
            wait(lambda: not waiting(), "it is done with")


def test_a_database_that_goes_while_an_unstorable_one_is_sorted_out_stops_nobody() -> None:
    def transaction() -> VersionedTransaction:
        message = MessageV0.try_compile((payer := Keypair()).pubkey(), [], [], Hash.new_unique())
        return VersionedTransaction(message, [payer])

    def end_the_waiting() -> None:
        until_waiting(1)
        with connection.cursor() as cursor:
            for pid in waiting_sessions():
                cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

    with odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("odd", url=node.url)
        with lander(None):
            signature = accept(transaction())
            reached(signature, "sent")
            with psycopg.connect(this_database()) as other:
                other.execute("SELECT FROM priority_submission FOR UPDATE")
                until_waiting(1)
                accept(transaction(), max_retries=2**40)
                for _ in range(3):
                    end_the_waiting()
            tries = row(signature).tries  # type: ignore[union-attr]
            wait(lambda: row(signature).tries > tries, "it is written on")  # type: ignore[union-attr]
            publish_events([Seen(100, signature, [0], {})], now=time.time())
            reached(signature, "landed")


def test_another_lander_goes_on_where_one_was_killed(followed: Localnet, payer: Keypair) -> None:
    durable = [on_a_nonce(followed, payer) for _ in range(3)]
    silent = threading.Event()

    def answer(body: bytes) -> tuple[int, bytes]:
        silent.wait(PATIENCE_SECONDS)  # as long as the first one lives nothing is taken
        return 200, answered("taken")

    with odd_node(answer) as node:
        upstream("odd", url=node.url, timeout_ms=60_000)
        landing = [start_lander(followed, "--name", "first")]
        try:
            signatures = [accept(each) for each in durable]
            wait(lambda: len(node.bodies) >= 3, "the first one has them")
            landing.append(start_lander(followed, "--name", "second"))
            wait(lambda: "second" in landers(), "the second one is there")
            landing[0].kill()
            Upstream.objects.all().delete()
            upstream("node")
            silent.set()
            for signature in signatures:
                found = reached(signature, "landed")
                assert found.is_nonced and found.last_valid_block_height is None
                assert found.attempts.filter(upstream="node")
            wait(lambda: not waiting(), "all are done with")
            landing[1].send_signal(signal.SIGTERM)
            assert landing[1].wait(PATIENCE_SECONDS) == 0
        finally:
            for each in landing:
                each.kill()
                each.wait()
    assert Submission.objects.count() == 3
    assert "second" not in landers(), "it let go of its name"


def test_each_of_more_than_are_looked_up_at_once_is_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracking, "_MOST_LOOKED_UP", 1)
    held = [signed(advance_nonce(), tip()) for _ in range(3)]
    with odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("odd", url=node.url)
        with lander(None):
            signatures = [accept(each, received_at=time.time() - 60) for each in held]
            for signature in signatures:
                reached(signature, "sent")
            for left, signature in ((2, signatures[1]), (1, signatures[0]), (0, signatures[2])):
                Submission.objects.filter(signature=signature).update(
                    state="expired", settled_at=datetime.now(UTC)
                )
                wait(lambda left=left: waiting() == left, "the lander has heard of it")


def test_what_ingest_settled_needs_no_more_care(followed: Localnet, payer: Keypair) -> None:
    with odd_node(lambda body: (200, answered("taken"))) as node, lander(followed):
        upstream("odd", url=node.url)
        signature = accept(on_a_nonce(followed, payer), received_at=time.time() - 60)
        reached(signature, "sent")
        Submission.objects.update(state="expired", settled_at=datetime.now(UTC))
        wait(lambda: not waiting(), "the lander has heard of it")
        assert row(signature).state == "expired"  # type: ignore[union-attr]
        again = accept(transfer_of(followed, payer), received_at=time.time() - 60)
        reached(again, "sent")
        Submission.objects.filter(signature=again).update(
            state="expired", settled_at=datetime.now(UTC)
        )
        wait(lambda: not waiting(), "the lander has heard of this one too")


def test_what_expired_and_is_submitted_again_starts_anew(
    followed: Localnet, payer: Keypair
) -> None:
    transaction = transfer_of(followed, payer)
    with odd_node(lambda body: (200, REFUSAL)) as node, lander(followed):
        upstream("odd", url=node.url)
        signature = accept(transaction, received_at=time.time() - 100)
        wait(lambda: (each := row(signature)) and each.attempts.exists(), "it was tried")
        Submission.objects.update(state="refused", settled_at=datetime.now(UTC))
        wait(lambda: not waiting(), "it is over")
        Upstream.objects.all().delete()
        upstream("node")
        before = row(signature)
        accept(transaction)
        found = reached(signature, "landed")
        assert before is not None and found.pk == before.pk
        assert found.accepted_at > before.accepted_at and not found.settled_at
        assert not found.attempts.filter(started_at__lt=found.accepted_at)
        Submission.objects.update(settled_at=datetime.now(UTC))
        accept(transaction)
        wait(lambda: not waiting(), "one that is landed is let go of")
        assert row(signature).state == "landed"  # type: ignore[union-attr]


def test_two_landers_share_the_work_and_no_row_is_there_twice(
    followed: Localnet, payer: Keypair
) -> None:
    upstream("node")
    with lander(followed, name="same"), lander(followed, name="same"):
        wait(lambda: set(landers()) == {"same", "same-2"}, "they have names of their own")
        signatures = [accept(transfer_of(followed, payer, lamports)) for lamports in range(40)]
        for signature in signatures:
            reached(signature, "landed", commitment="confirmed")
        wait(lambda: not waiting(), "all are done with")
    assert Submission.objects.count() == 40
    assert Attempt.objects.filter(number=1).count() == 40


def test_a_node_that_refuses_is_told_of_and_asked_again_until_the_blockhash_is_dead(
    followed: Localnet, payer: Keypair
) -> None:
    with odd_node(lambda body: (200, REFUSAL)) as node, lander(followed):
        upstream("odd", url=node.url)
        signature = accept(transfer_of(followed, payer, blockhash=old_blockhash(followed)))
        wait(lambda: not waiting() or ((each := row(signature)) and each.tries >= 2), "two tries")
        found = row(signature)
        assert found is not None and found.tries >= 2
        assert (found.state, found.sent_at) == ("received", None)
        assert found.reason.startswith("upstream_refused: odd: Transaction simulation failed")
        tried = found.attempts.first()
        assert tried is not None and (tried.outcome, tried.number) == ("refused", 1)
        assert tried.answer.endswith("not today (-32002)") and tried.target in node.url
        assert not Upstream.objects.get().broken_until, "the node itself is well"
        assert waiting() == 1
        wait(lambda: not waiting(), "nothing can be done any more")
    assert set(node.bodies) == {node.bodies[0]}
    sent = json.loads(node.bodies[0])
    assert sent["method"] == "sendTransaction"
    assert sent["params"][1] == {"encoding": "base64", "skipPreflight": True, "maxRetries": 0}
    height = followed.call("getBlockHeight", {"commitment": "confirmed"})
    last_valid = row(signature).last_valid_block_height  # type: ignore[union-attr]
    assert last_valid is not None and last_valid < height < last_valid + BLOCKHASH_BLOCKS - 40
