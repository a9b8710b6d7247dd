"""Planned sweeps on their way: queued once, settled though nobody told of their fate."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.transaction import Transaction

from priority import tasks
from priority.models import Submission
from priority.submissions import ACCEPTED_STREAM, FIELD, unpack
from priority.treasury.services import sweeps
from shared_state import script_socket
from shared_state.redis_client import client
from tests.tipping.balance_chain import (
    SEED,
    TREASURY,
    BalanceChain,
    addresses,
    balance_chain,
    expired_batch,
)
from tipping.models import TipSweep

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def chain(settings: Any) -> Iterator[BalanceChain]:
    settings.TIP_SECRET_SEED, settings.TREASURY_ADDRESS = SEED, TREASURY
    settings.TIP_SWEEP_AFTER_SECONDS = 20
    with balance_chain() as made:
        settings.UPSTREAM_RPC_URL = made.url
        for pubkey in addresses(expired_batch(made, issued=3)):
            made.tip(pubkey, 1_000_000)
        yield made


def queued() -> list[bytes]:
    entries: Any = client().xrange(ACCEPTED_STREAM)
    accepted = [unpack(fields[FIELD.encode()]) for _, fields in entries]
    assert {(each.kind, each.key_id, each.tip) for each in accepted} <= {("sweep", None, None)}
    return [wire for each in accepted for wire in each.wires]


def taken_up(state: str, **fields: Any) -> Submission:
    """The row of the planned sweep, as a lander and the settling leave it."""
    sweep = TipSweep.objects.get(state="planned")
    return Submission.objects.create(
        signature=sweep.signature,
        kind="sweep",
        blockhash=Transaction.from_bytes(bytes(sweep.wire)).message.recent_blockhash,
        accepted_at=timezone.now(),
        state=state,
        **{"settled_at": timezone.now(), **fields},
    )


def test_the_clock_plans_and_queues_a_sweep_once(chain: BalanceChain) -> None:
    for _ in range(3):
        tasks.sweep_tips()
    assert queued() == [bytes(TipSweep.objects.get().wire)]
    # Redis has lost all, and no lander had taken it up: the same bytes again.
    client().flushdb()
    tasks.sweep_tips()
    assert queued() == [bytes(TipSweep.objects.get().wire)]


def test_what_a_lander_took_up_is_not_queued_again(chain: BalanceChain) -> None:
    tasks.sweep_tips()
    taken_up("sent", sent_at=timezone.now(), settled_at=None)
    client().flushdb()
    tasks.sweep_tips()
    assert queued() == []


def test_a_fate_that_nobody_told_of_is_found(chain: BalanceChain) -> None:
    tasks.sweep_tips()
    taken_up("expired", reason="not_landed")
    tasks.sweep_tips()
    first, second = TipSweep.objects.order_by("pk")
    assert (first.state, first.reason) == ("expired", "not_landed")
    assert (second.state, second.parts.count()) == ("planned", 3)
    chain.execute(bytes(second.wire))
    taken_up("landed", slot=chain.slot)
    tasks.sweep_tips()
    second.refresh_from_db()
    assert (second.state, second.slot) == ("landed", chain.slot)
    assert chain.held[TREASURY] + chain.fees == chain.received
    assert not TipSweep.objects.filter(state="planned").exists()


def test_while_the_node_is_away_nothing_is_planned(
    chain: BalanceChain, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.UPSTREAM_RPC_URL = "http://127.0.0.1:1"
    tasks.sweep_tips()
    assert "tips are not swept until the node answers: 127.0.0.1:1" in caplog.text
    assert not TipSweep.objects.exists()


def test_while_redis_is_away_planned_sweeps_wait(
    chain: BalanceChain, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere/valkey.sock"
    script_socket.forget()
    tasks.sweep_tips()
    assert "sweeps cannot be queued yet" in caplog.text
    settings.REDIS_URL = there
    script_socket.forget()
    assert queued() == []
    tasks.sweep_tips()
    assert queued() == [bytes(TipSweep.objects.get().wire)]


def test_nothing_due_costs_next_to_nothing(
    chain: BalanceChain, settings: Any, django_assert_max_num_queries: Any
) -> None:
    settings.TIP_SWEEP_AFTER_SECONDS = int(timedelta(days=1).total_seconds())
    with django_assert_max_num_queries(2):
        tasks.sweep_tips()
    settings.UPSTREAM_RPC_URL = ""
    sweeps.carry_on(now=timezone.now())
    assert queued() == []
