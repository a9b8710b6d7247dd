"""Landers and durable nonces: sending stops by the clock, and that is not the end."""

import json
import time
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from alerts.models import Event
from priority.acceptance.store.accepting import is_known
from priority.fates.services.announcing import FIELD, key_stream, unpack
from priority.fates.services.events import event, read_place
from priority.models import Submission
from priority.submissions import pending_key
from shared_state.redis_client import client
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, reached, row, upstream, waiting
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import advance_nonce, signed, tip
from tests.priority.submitters import Customer, Door, send
from tests.priority.test_landing_trouble import answered, on_a_nonce

pytestmark = pytest.mark.django_db(transaction=True)


def stopped(signature: bytes) -> Submission | None:
    found = row(signature)
    return found if found is not None and found.stopped else None


def test_sending_stops_by_the_clock_and_the_fate_stays_open(
    followed: Localnet, payer: Keypair, issue: Any
) -> None:
    """The same bytes land after that, by the service or by anybody."""
    key = issue().key
    transaction = on_a_nonce(followed, payer)
    with odd_node(lambda body: (200, answered("taken"))) as node:
        odd = upstream("odd", url=node.url)
        with lander(followed):
            signature = accept(transaction, key_id=key.pk)
            reached(signature, "sent")
        with lander(followed, nonce_patience_seconds=1):
            found = wait(lambda: stopped(signature), "sending has stopped")
            assert (found.state, found.settled_at) == ("sent", None)
            assert found.stopped.startswith("patience_over: ")
            wait(lambda: not waiting(), "the lander is done with it")
            tries = len(node.bodies)
            time.sleep(0.5)  # in which another try would come
            assert len(node.bodies) == tries
        last = events(key.pk)[-1]
        assert (last["final"], last["sending"]) == (False, "stopped")
        assert last["sendingStopped"] == found.stopped
        notice = Event.objects.get(kind="submission.stopped")
        assert (notice.customer_id, notice.data["reason"]) == (key.customer_id, found.stopped)
        assert notice.data["signature"] == str(transaction.signatures[0])
    # Accepted again it is sent again.
    odd.delete()
    upstream("node")
    with lander(followed, name="second"):
        accept(transaction, key_id=key.pk)
        landed = reached(signature, "landed")
        assert landed.pk == found.pk and landed.stopped == ""
        wait(lambda: events(key.pk)[-1]["state"] == "landed", "it is announced")
    assert events(key.pk)[-1]["sending"] is None
    states = [each["sending"] for each in events(key.pk)]
    assert states.index("stopped") > states.index("active")


def events(key_id: int) -> list[dict[str, Any]]:
    """What the key's holder was told, the oldest first."""
    from jsonrpc.wire import encode

    entries: Any = client().xrange(key_stream(key_id))
    assert all(read_place(name) for name, _ in entries)
    return [
        json.loads(encode(event(change)))
        for _, fields in entries
        for _, change in unpack(fields[FIELD])
    ]


def test_what_is_final_is_not_sent_any_more(followed: Localnet, payer: Keypair) -> None:
    with odd_node(lambda body: (200, answered("taken"))) as node, lander(followed):
        upstream("odd", url=node.url)
        ages = {"received_at": time.time() - 60}
        signature = accept(on_a_nonce(followed, payer), **ages)
        reached(signature, "sent")
        Submission.objects.update(state="expired", settled_at="2026-01-01T00:00:00Z")
        wait(lambda: not waiting(), "the lander has heard of it")
        assert stopped(signature) is None, "what is final says nothing of sending"


def test_a_full_lander_sends_what_others_submit(door: Door, customers: list[Customer]) -> None:
    """Nothing ends what stands on a nonce that nobody ever had, but the patience."""
    first, second, third = customers
    held = [signed(advance_nonce(), tip()) for _ in range(8)]
    own, others = signed(advance_nonce(), tip()), signed(tip())
    with odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("odd", url=node.url)
        with lander(None, most_submissions=9):
            for customer, transaction in [(second, own), *((first, each) for each in held)]:
                send(door, transaction, customer.secret)
                reached(bytes(transaction.signatures[0]), "sent")
            send(door, others, third.secret)
            reached(bytes(others.signatures[0]), "sent")
            wait(lambda: stopped(bytes(held[1].signatures[0])), "there is room for one more")
            crowded = list(Submission.objects.exclude(stopped="").order_by("id"))
            assert [each.signature for each in crowded] == [each.signatures[0] for each in held[:2]]
            assert {(each.state, each.settled_at) for each in crowded} == {("sent", None)}
            assert all(each.stopped.startswith("crowded_out: ") for each in crowded)
            # Its sender may have it sent again, in the place of another one.
            wait(lambda: not pending(held[0]), "it is not known any more")
            send(door, held[0], first.secret)
            wait(lambda: not stopped(bytes(held[0].signatures[0])), "it is sent again")
            wait(lambda: stopped(bytes(held[2].signatures[0])), "there is room for one more")
            assert not stopped(bytes(own.signatures[0]))


def pending(transaction: VersionedTransaction) -> bool:
    return is_known(pending_key(bytes(transaction.signatures[0])))
