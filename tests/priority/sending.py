"""What tests of acceptance share: transactions with and without tips, and what was queued."""

import base64
from typing import Any

from django.conf import settings
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from priority.submissions import ACCEPTED_STREAM, FIELD, Accepted, unpack
from shared_state.redis_client import client

PAYER = Keypair.from_seed(bytes([7]) * 32)
MINIMUM = 1_000_000
SENT = {"encoding": "base64", "skipPreflight": True}
SYSTEM = Pubkey.default()
# What a version 1 transaction must ask for to succeed.
ASKED = TransactionConfig(compute_unit_limit=200_000, loaded_accounts_data_size_limit=1 << 20)


def static_address() -> Pubkey:
    address: Pubkey = settings.TIP_ADDRESSES[0]
    return address


def pay(to: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=to, lamports=lamports))


def tip(lamports: int = MINIMUM) -> Instruction:
    return pay(static_address(), lamports)


def signed(*instructions: Instruction, blockhash: Hash | None = None) -> VersionedTransaction:
    """A legacy transaction of PAYER's, with a blockhash of its own unless one is given."""
    message = Message.new_with_blockhash(
        list(instructions), PAYER.pubkey(), blockhash or Hash(Keypair().pubkey().__bytes__())
    )
    return VersionedTransaction(message, [PAYER])


def signed_v0(
    *instructions: Instruction, tables: Any = (), blockhash: Hash | None = None
) -> VersionedTransaction:
    message = MessageV0.try_compile(
        PAYER.pubkey(), list(instructions), list(tables), blockhash or Hash.new_unique()
    )
    return VersionedTransaction(message, [PAYER])


def signed_v1(
    *instructions: Instruction, blockhash: Hash | None = None, config: TransactionConfig = ASKED
) -> VersionedTransaction:
    message = MessageV1.try_compile(
        PAYER.pubkey(), list(instructions), blockhash or Hash.new_unique(), config
    )
    return VersionedTransaction(message, [PAYER])


def advance_nonce() -> Instruction:
    nonce, recent = Pubkey.new_unique(), Pubkey.new_unique()
    return Instruction(
        SYSTEM,
        (4).to_bytes(4, "little"),
        [
            AccountMeta(nonce, False, True),
            AccountMeta(recent, False, False),
            AccountMeta(PAYER.pubkey(), True, False),
        ],
    )


def text(transaction: VersionedTransaction | bytes) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def signature(transaction: VersionedTransaction) -> str:
    return str(transaction.signatures[0])


def queued() -> list[Accepted]:
    """What waits for a lander, oldest first."""
    entries: Any = client().xrange(ACCEPTED_STREAM)
    return [unpack(fields[FIELD.encode()]) for _, fields in entries]


def result(response: Any) -> Any:
    assert response.status_code == 200, response.content
    answer = response.json()
    assert "error" not in answer, answer["error"]
    return answer["result"]


def refusal(response: Any, *, status: int = 200, code: int = -32602) -> dict[str, Any]:
    """The error's data; nothing was queued."""
    assert response.status_code == status, response.content
    error = response.json()["error"]
    assert error["code"] == code, error
    assert not queued()
    data: dict[str, Any] = error["data"]
    return data
