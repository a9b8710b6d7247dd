"""With solana-py: airdrop, send, confirm, read, subscribe, tokens; each check is a line of JSON."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed, Finalized, Processed
from solana.rpc.websocket_api import SolanaWsClient
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.rpc.config import RpcTransactionLogsFilterMentions
from solders.signature import Signature
from solders.system_program import CreateAccountParams, TransferParams, create_account, transfer
from solders.transaction import VersionedTransaction
from spl.token import instructions as token
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import InitializeMintParams, MintToParams, TransferCheckedParams

SOL = 1_000_000_000
PATIENCE_SECONDS = 60
COMMITMENTS = (Processed, Confirmed, Finalized)


class Report:
    """Runs checks one after another."""

    def __init__(self) -> None:
        self.count = self.failed = 0

    async def __call__(self, name: str, run: Callable[[], Awaitable[Any]]) -> Any:
        begun = time.monotonic()
        line: dict[str, Any] = {"check": name, "ok": True}
        self.count += 1
        found = None
        try:
            found = await asyncio.wait_for(run(), PATIENCE_SECONDS)
        except Exception as error:
            self.failed += 1
            line |= {"ok": False, "error": f"{type(error).__name__}: {error}"[:1_000]}
        print(json.dumps({**line, "ms": round((time.monotonic() - begun) * 1_000)}), flush=True)
        return found


class Way:
    """A wallet with money, at the client's end."""

    def __init__(self, client: AsyncClient, given: dict[str, Any], check: Report) -> None:
        self.client = client
        self.given = given
        self.check = check
        self.payer, self.payee = Keypair(), Keypair().pubkey()

    async def send(
        self, *instructions: Instruction, signers: tuple[Keypair, ...] = ()
    ) -> Signature:
        latest = (await self.client.get_latest_blockhash(Confirmed)).value
        message = MessageV0.try_compile(
            self.payer.pubkey(), list(instructions), [], latest.blockhash
        )
        transaction = VersionedTransaction(message, [self.payer, *signers])
        return (await self.client.send_transaction(transaction)).value

    async def confirm(self, signature: Signature, commitment: Any = Confirmed) -> Any:
        found = await self.client.confirm_transaction(signature, commitment, sleep_seconds=0.1)
        assert found.value[0].err is None, found
        return signature

    def pay(self, lamports: int) -> Instruction:
        return transfer(
            TransferParams(from_pubkey=self.payer.pubkey(), to_pubkey=self.payee, lamports=lamports)
        )

    async def transfers(self) -> None:
        async def airdrop() -> None:
            sent = await self.client.request_airdrop(self.payer.pubkey(), 10 * SOL)
            await self.confirm(sent.value)

        await self.check("request_airdrop, confirm_transaction", airdrop)
        for commitment in COMMITMENTS:

            async def paid(commitment: Any = commitment) -> Signature:
                return await self.confirm(await self.send(self.pay(SOL // 100)), commitment)

            signature = await self.check(f"send and confirm, {commitment}", paid)
        self.signature = signature

    async def reads(self) -> None:
        client, key = self.client, self.payer.pubkey()
        one = await client.get_transaction(self.signature, max_supported_transaction_version=0)
        slot = one.value.slot
        for encoding in ("json", "base58", "base64", "jsonParsed"):

            async def both(encoding: str = encoding) -> None:
                found = await client.get_transaction(
                    self.signature, encoding, max_supported_transaction_version=0
                )
                assert found.value.slot == slot
                block = await client.get_block(slot, encoding, max_supported_transaction_version=0)
                assert block.value.transactions

            await self.check(f"get_transaction, get_block, {encoding}", both)
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "get_balance": lambda: client.get_balance(key, Confirmed),
            "get_account_info": lambda: client.get_account_info(key, Confirmed),
            "get_account_info_json_parsed": lambda: client.get_account_info_json_parsed(key),
            "get_multiple_accounts": lambda: client.get_multiple_accounts([key, self.payee]),
            "get_signatures_for_address": lambda: client.get_signatures_for_address(key),
            "get_signature_statuses": lambda: client.get_signature_statuses([self.signature]),
            "get_block_time": lambda: client.get_block_time(slot),
            "get_blocks": lambda: client.get_blocks(slot, slot + 3),
            "get_block_commitment": lambda: client.get_block_commitment(slot),
            "get_block_height": lambda: client.get_block_height(),
            "get_cluster_nodes": client.get_cluster_nodes,
            "get_epoch_info": client.get_epoch_info,
            "get_epoch_schedule": client.get_epoch_schedule,
            "get_first_available_block": client.get_first_available_block,
            "get_genesis_hash": client.get_genesis_hash,
            "get_identity": client.get_identity,
            "get_inflation_governor": client.get_inflation_governor,
            "get_inflation_rate": client.get_inflation_rate,
            "get_largest_accounts": client.get_largest_accounts,
            "get_leader_schedule": client.get_leader_schedule,
            "get_minimum_balance": lambda: client.get_minimum_balance_for_rent_exemption(50),
            "get_recent_performance_samples": lambda: client.get_recent_performance_samples(2),
            "get_slot_leader": client.get_slot_leader,
            "get_supply": client.get_supply,
            "get_transaction_count": client.get_transaction_count,
            "get_version": client.get_version,
            "get_vote_accounts": client.get_vote_accounts,
        }
        for name, call in calls.items():

            async def has(call: Callable[[], Awaitable[Any]] = call) -> None:
                # solders makes a typed object of it, or raises.
                assert (await call()).value is not None

            await self.check(name, has)

    async def tokens(self) -> None:
        mint, owner = Keypair(), self.payer.pubkey()
        mine, theirs = (
            token.get_associated_token_address(each, mint.pubkey()) for each in (owner, self.payee)
        )

        async def made() -> None:
            rent = (await self.client.get_minimum_balance_for_rent_exemption(82)).value
            make = create_account(
                CreateAccountParams(
                    from_pubkey=owner,
                    to_pubkey=mint.pubkey(),
                    lamports=rent,
                    space=82,
                    owner=TOKEN_PROGRAM_ID,
                )
            )
            begin = token.initialize_mint(
                InitializeMintParams(
                    decimals=6,
                    program_id=TOKEN_PROGRAM_ID,
                    mint=mint.pubkey(),
                    mint_authority=owner,
                )
            )
            accounts = [
                token.create_associated_token_account(owner, each, mint.pubkey())
                for each in (owner, self.payee)
            ]
            more = token.mint_to(
                MintToParams(
                    program_id=TOKEN_PROGRAM_ID,
                    mint=mint.pubkey(),
                    dest=mine,
                    mint_authority=owner,
                    amount=1_000_000,
                )
            )
            await self.confirm(await self.send(make, begin, *accounts, more, signers=(mint,)))

        async def moved() -> None:
            move = token.transfer_checked(
                TransferCheckedParams(
                    program_id=TOKEN_PROGRAM_ID,
                    source=mine,
                    mint=mint.pubkey(),
                    dest=theirs,
                    owner=owner,
                    amount=250_000,
                    decimals=6,
                )
            )
            await self.confirm(await self.send(move))
            balance = (await self.client.get_token_account_balance(theirs, Confirmed)).value
            assert (balance.amount, balance.decimals) == ("250000", 6)
            supply = (await self.client.get_token_supply(mint.pubkey(), Confirmed)).value
            assert supply.ui_amount_string == "1"
            largest = await self.client.get_token_largest_accounts(mint.pubkey(), Confirmed)
            assert len(largest.value) == 2

        await self.check("a mint and two token accounts", made)
        await self.check("a transfer of tokens, and what is read", moved)

    async def subscriptions(self) -> None:
        async def heard(subscribe: Callable[[Any], Awaitable[Any]], act: Any = None) -> Any:
            async with SolanaWsClient(self.given["websocketUrl"]) as socket:
                await subscribe(socket)
                if act is not None:
                    await act()
                return (await socket.recv()).result

        def paid() -> Awaitable[Any]:
            return self.send(self.pay(SOL // 1_000))

        mentions = RpcTransactionLogsFilterMentions(self.payee)
        for commitment in COMMITMENTS:
            kinds: dict[str, Callable[[Any], Awaitable[Any]]] = {
                "account_subscribe": lambda each, commitment=commitment: each.account_subscribe(
                    pubkey=self.payee, commitment=commitment
                ),
                "logs_subscribe": lambda each, commitment=commitment: each.logs_subscribe(
                    filter_=mentions, commitment=commitment
                ),
                "program_subscribe": lambda each, commitment=commitment: each.program_subscribe(
                    program_id=Pubkey.default(), commitment=commitment
                ),
            }
            for name, subscribe in kinds.items():

                async def notified(subscribe: Any = subscribe) -> None:
                    assert (await heard(subscribe, paid)).value is not None

                await self.check(f"{name}, {commitment}", notified)

            async def signature(commitment: Any = commitment) -> None:
                sent = await paid()
                result = await heard(
                    lambda each: each.signature_subscribe(signature=sent, commitment=commitment)
                )
                assert result.value.err is None

            await self.check(f"signature_subscribe, {commitment}", signature)
        for name in ("slot_subscribe", "root_subscribe", "slots_updates_subscribe"):

            async def slots(name: str = name) -> None:
                assert await heard(lambda each: getattr(each, name)()) is not None

            await self.check(name, slots)

    async def headers(self) -> None:
        async def with_header() -> None:
            headers = {"Authorization": self.given["key"]}
            async with AsyncClient(self.given["plainUrl"], extra_headers=headers) as client:
                assert (await client.get_slot()).value > 0

        if "key" in self.given:
            await self.check("the key in a header", with_header)


async def main() -> None:
    given, check = json.loads(sys.argv[1]), Report()
    async with AsyncClient(given["url"], Confirmed, timeout=PATIENCE_SECONDS) as client:
        way = Way(client, given, check)
        await way.transfers()
        await way.reads()
        await way.tokens()
        await way.subscriptions()
        await way.headers()
    print(json.dumps({"done": check.count, "failed": check.failed}), flush=True)


asyncio.run(main())
