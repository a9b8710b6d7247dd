"""manage.py treasury: what it shows, what it sends, and what it refuses to."""

import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from solders.keypair import Keypair
from solders.transaction import Transaction

from priority.models import Submission
from priority.submissions import ACCEPTED_STREAM, FIELD, unpack
from tests.patience import wait
from tests.tipping.balance_chain import SEED, TREASURY, BalanceChain, balance_chain

TO = Keypair().pubkey()


@pytest.fixture
def chain(settings: Any, nothing_remembered: None) -> Iterator[BalanceChain]:
    settings.TIP_SECRET_SEED, settings.TREASURY_ADDRESS = SEED, TREASURY
    with balance_chain() as made:
        settings.UPSTREAM_RPC_URL = made.url
        yield made


def treasury(*arguments: str) -> str:
    told = io.StringIO()
    call_command("treasury", *arguments, stdout=told)
    return told.getvalue()


@pytest.mark.django_db
def test_it_shows_what_the_chain_and_the_ledger_say(chain: BalanceChain) -> None:
    chain.tip(TREASURY, 5_000_000)
    assert treasury().splitlines() == [
        f"{TREASURY}, made from TIP_SECRET_SEED",
        "               5,000,000 lamports on chain, finalized at 101",
        "               5,000,000 lamports by the ledger of tips",
    ]
    chain.held[TREASURY] += 7
    assert "+7 not in the ledger" in treasury()


@pytest.mark.django_db
def test_what_it_cannot_pay_is_refused_and_not_sent(chain: BalanceChain, settings: Any) -> None:
    chain.tip(TREASURY, 5_000_000)
    for arguments, told in (
        ((str(TO), "5000000"), "1 to 4,995,000 lamports can be paid"),
        ((str(TO), "0"), "1 to 4,995,000 lamports can be paid"),
        ((str(TO), "4994999"), "1 lamports would be left: all must go, or 890,880 must stay"),
        ((str(TREASURY), "5"), "that is the treasury itself"),
        (("nobody", "5"), "expected an address in base58"),
        ((str(TO), "-5"), "expected a number of lamports"),
    ):
        with pytest.raises(CommandError, match=told):
            call_command("treasury", send=list(arguments))
    settings.TIP_SECRET_SEED = b"t" * 32
    assert "not of TIP_SECRET_SEED" in treasury()
    with pytest.raises(CommandError, match="pay with the wallet that holds it"):
        call_command("treasury", send=[str(TO), "1000000"])
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        assert not client.exists(ACCEPTED_STREAM)


@pytest.mark.django_db
def test_without_a_node_it_says_so(settings: Any) -> None:
    settings.UPSTREAM_RPC_URL = "http://127.0.0.1:1"
    with pytest.raises(CommandError, match=r"127\.0\.0\.1:1"):
        treasury()
    settings.UPSTREAM_RPC_URL = ""
    with pytest.raises(CommandError, match="no node reports"):
        treasury()


@pytest.mark.django_db(transaction=True)
def test_what_it_sends_lands_once(chain: BalanceChain, settings: Any) -> None:
    chain.tip(TREASURY, 5_000_000)

    def land() -> None:
        """A lander and the settling, as short as can be."""
        try:
            with redis.Redis.from_url(settings.REDIS_URL) as client:
                wait(lambda: client.xlen(ACCEPTED_STREAM), "accepted")
                ((_, fields),) = client.xrange(ACCEPTED_STREAM)
            accepted = unpack(fields[FIELD.encode()])
            state = chain.execute(accepted.wires[0])
            Submission.objects.create(
                signature=accepted.signatures[0],
                kind=accepted.kind,
                blockhash=Transaction.from_bytes(accepted.wires[0]).message.recent_blockhash,
                accepted_at=timezone.now(),
                state=state,
                slot=chain.slot,
                settled_at=timezone.now(),
            )
        finally:
            connection.close()

    thread = threading.Thread(target=land)
    thread.start()
    told = io.StringIO()
    call_command("treasury", send=[str(TO), "4_995_000"], stdout=told)
    thread.join()
    assert f"landed in slot {chain.slot}, finalized" in told.getvalue()
    assert (chain.held[TO], chain.held[TREASURY]) == (4_995_000, 0)
    assert "0 lamports on chain" in treasury()
