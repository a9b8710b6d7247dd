"""The PyPI client `solana` at `/`: airdrop, transfer, confirm; then the ledger has it."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed, Finalized
from solana.rpc.core import RPCException
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tests.patience import PATIENCE_SECONDS

from .service import Service
from .test_python import answered

Run = Callable[[Callable[[AsyncClient, AsyncClient], Coroutine[Any, Any, Any]]], Any]
AIRDROP = 2_000_000_000
# What the fee of one signature is.
FEE = 5_000
# Even the widest key has a limit, and a ledger on an idle machine answers faster than it.
_POLL_SECONDS = 0.02


@pytest.fixture
def run(followed: Service) -> Run:
    """`run(work)`: what `work(chain, ledger)` gives, with a client at `/` and one at the ledger."""

    async def with_clients(work: Any) -> Any:
        headers = {"Authorization": followed.key}
        async with (
            AsyncClient(f"{followed.base_url}/", Confirmed, 20, headers) as chain,
            AsyncClient(followed.url, Finalized, 20, headers) as ledger,
        ):
            return await work(chain, ledger)

    return lambda work: answered(with_clients(work))


async def funded(chain: AsyncClient) -> Keypair:
    payer = Keypair()
    airdrop = (await chain.request_airdrop(payer.pubkey(), AIRDROP)).value
    await chain.confirm_transaction(airdrop, Confirmed, sleep_seconds=0.1)
    return payer


async def sent(chain: AsyncClient, payer: Keypair, payee: Pubkey, lamports: int) -> Signature:
    blockhash = (await chain.get_latest_blockhash()).value.blockhash
    params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=payee, lamports=lamports)
    message = MessageV0.try_compile(payer.pubkey(), [transfer(params)], [], blockhash)
    return (await chain.send_transaction(VersionedTransaction(message, [payer]))).value


def test_what_was_sent_and_confirmed_at_the_root_is_read_back_from_the_ledger(run: Run) -> None:
    async def work(chain: AsyncClient, ledger: AsyncClient) -> None:
        payer, payee = await funded(chain), Keypair().pubkey()
        signature = await sent(chain, payer, payee, 1_000_000)
        await chain.confirm_transaction(signature, Finalized, sleep_seconds=0.1)
        own = (await chain.get_transaction(signature, max_supported_transaction_version=0)).value
        assert own is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        stored = None
        while stored is None:
            assert time.monotonic() < deadline, "the ledger does not have it"
            await asyncio.sleep(_POLL_SECONDS)
            answer = await ledger.get_transaction(signature, max_supported_transaction_version=0)
            stored = answer.value
        # The ledger's text is the node's: slot, meta, time and the transaction itself.
        assert (stored.slot, stored.block_time) == (own.slot, own.block_time)
        assert stored.transaction == own.transaction
        assert stored.transaction.meta is not None and stored.transaction.meta.fee == FEE
        balance = (await chain.get_balance(payer.pubkey(), Confirmed)).value
        assert balance == AIRDROP - 1_000_000 - FEE
        history = (await ledger.get_signatures_for_address(payee)).value
        assert [each.signature for each in history] == [signature]
        block = (await ledger.get_block(stored.slot, max_supported_transaction_version=0)).value
        same = (await chain.get_block(stored.slot, max_supported_transaction_version=0)).value
        assert block == same

    run(work)


def test_the_ledger_is_within_two_slots_of_finality(run: Run) -> None:
    async def work(chain: AsyncClient, ledger: AsyncClient) -> list[int]:
        payer = await funded(chain)
        behind = []
        for _ in range(3):
            signature = await sent(chain, payer, Keypair().pubkey(), 1_000_000)
            deadline = time.monotonic() + PATIENCE_SECONDS
            stored = None
            while stored is None:
                assert time.monotonic() < deadline, "the ledger does not have it"
                await asyncio.sleep(_POLL_SECONDS)
                finalized = (await chain.get_slot(Finalized)).value
                answer = await ledger.get_transaction(
                    signature, max_supported_transaction_version=0
                )
                stored = answer.value
            # `finalized` was asked before the ledger: when it was, the ledger may have been behind.
            behind.append(finalized - stored.slot)
        return behind

    found = run(work)
    # A machine that pauses once is no slow ledger.
    assert sorted(found)[len(found) // 2] <= 2, found


def test_a_refused_transaction_is_refused_in_the_nodes_words(run: Run) -> None:
    async def work(chain: AsyncClient, ledger: AsyncClient) -> None:
        with pytest.raises(RPCException) as caught:
            await sent(chain, Keypair(), Keypair().pubkey(), 1_000_000)
        assert "Attempt to debit an account but found no record of a prior credit" in str(
            caught.value
        )

    run(work)
