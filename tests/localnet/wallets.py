"""Wallets: what a client does with a localnet, over its JSON-RPC."""

import base64
from collections.abc import Sequence
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import (
    AdvanceNonceAccountParams,
    TransferParams,
    advance_nonce_account,
    create_nonce_account,
    transfer,
)
from solders.transaction import VersionedTransaction

from tests.localnet_process import Localnet

SOL = 1_000_000_000
PROCESSED = {"commitment": "processed"}
CONFIRMED = {"commitment": "confirmed"}


def wallet(localnet: Localnet, lamports: int = 10 * SOL) -> Keypair:
    """A new key with so many lamports, confirmed."""
    keypair = Keypair()
    signature = localnet.call("requestAirdrop", str(keypair.pubkey()), lamports)
    landed(localnet, signature, "confirmed")
    return keypair


def pay(payer: Keypair, to: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports))


def signed(
    localnet: Localnet,
    instructions: Sequence[Instruction],
    *signers: Keypair,
    blockhash: str | None = None,
    tables: Sequence[AddressLookupTableAccount] = (),
) -> VersionedTransaction:
    """A version 0 transaction that the first signer pays; on the latest blockhash unless given."""
    recent = blockhash or latest_blockhash(localnet)
    message = MessageV0.try_compile(
        signers[0].pubkey(), list(instructions), list(tables), Hash.from_string(recent)
    )
    return VersionedTransaction(message, list(signers))


def latest_blockhash(localnet: Localnet) -> str:
    found: str = localnet.call("getLatestBlockhash", CONFIRMED)["value"]["blockhash"]
    return found


def encoded(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def send(localnet: Localnet, transaction: VersionedTransaction, **config: Any) -> str:
    """Its signature, once the node has taken it."""
    answer = sent(localnet, transaction, **config)
    assert "error" not in answer, answer["error"]
    signature: str = answer["result"]
    return signature


def sent(localnet: Localnet, transaction: VersionedTransaction, **config: Any) -> dict[str, Any]:
    """The node's whole answer."""
    config = {"encoding": "base64", "preflightCommitment": "processed", **config}
    return localnet.answer("sendTransaction", encoded(transaction), config)


def landed(localnet: Localnet, signature: str, commitment: str = "finalized") -> dict[str, Any]:
    """The transaction's status, once it has the commitment."""
    levels = ["processed", "confirmed", "finalized"]
    wanted = levels[levels.index(commitment) :]

    # A busy test looks when it is no longer a recent one.
    history = {"searchTransactionHistory": True}

    def reached() -> dict[str, Any] | None:
        found = localnet.call("getSignatureStatuses", [signature], history)["value"][0]
        return found if found and found["confirmationStatus"] in wanted else None

    status: dict[str, Any] = localnet.wait(reached, f"done with {signature}")
    return status


def done(localnet: Localnet, instructions: Sequence[Instruction], *signers: Keypair) -> str:
    """The signature of a transaction that is confirmed and has succeeded."""
    signature = send(localnet, signed(localnet, instructions, *signers))
    assert landed(localnet, signature, "confirmed")["err"] is None
    return signature


def nonce(localnet: Localnet, owner: Keypair) -> tuple[Pubkey, Instruction, str]:
    """A new nonce account, the instruction that advances it, and the blockhash that it holds."""
    account, me = Keypair(), owner.pubkey()
    rent = localnet.call("getMinimumBalanceForRentExemption", 80)
    done(localnet, create_nonce_account(me, account.pubkey(), me, rent), owner, account)
    config = {"encoding": "jsonParsed", **CONFIRMED}
    shown = localnet.call("getAccountInfo", str(account.pubkey()), config)["value"]["data"]
    parameters = AdvanceNonceAccountParams(nonce_pubkey=account.pubkey(), authorized_pubkey=me)
    return account.pubkey(), advance_nonce_account(parameters), shown["parsed"]["info"]["blockhash"]


def on_a_nonce(
    localnet: Localnet, payer: Keypair, *instructions: Instruction
) -> VersionedTransaction:
    """A transaction that no block height ends; a payment to nobody unless given."""
    _, advance, blockhash = nonce(localnet, payer)
    wanted = instructions or [pay(payer, Pubkey.new_unique(), 1_000_000)]
    return signed(localnet, [advance, *wanted], payer, blockhash=blockhash)


def balance(localnet: Localnet, key: Pubkey, commitment: str = "confirmed") -> int:
    found: int = localnet.call("getBalance", str(key), {"commitment": commitment})["value"]
    return found
