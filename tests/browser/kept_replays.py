"""A kept replay of a transaction that failed on chain and succeeds with a richer payer."""

from typing import Any

import msgspec
from django.utils import timezone
from solders.pubkey import Pubkey
from solders.signature import Signature


def kept_replay(customer: Any, signature: Signature) -> Any:
    """As if a member of the customer had made it; of staff without a customer."""
    from rewind.replay.models import Replay
    from rewind.replay.services.replays.requests import AccountEdit, ReplayRequest
    from rewind.replay.services.replays.results import Proof, ReplayedTransaction, ReplayResult

    payer, to, system = (str(Pubkey(bytes([number]) * 32)) for number in (7, 8, 0))
    request = ReplayRequest(accounts=(AccountEdit(payer, lamports=10**12),))
    result = ReplayResult(
        slot=332_254_855,
        completeness={
            "status": "incomplete",
            "causes": [
                {"cause": "gap", "fromSlot": 332_254_000, "toSlot": 332_254_009, "accounts": [to]}
            ],
        },
        transactions=[
            ReplayedTransaction(
                signature=str(signature),
                slot=332_254_855,
                index=3,
                transaction=_transaction(str(signature), [payer, to, system]),
                wire="AQ" * 150,
                recorded=_meta(2 * 10**9, failed=True),
                replayed=_meta(10**12, failed=False),
                differs=["err", "logs", "preBalances", "postBalances"],
                touches=[payer],
                proof=Proof("verified"),
            )
        ],
    )
    return Replay.objects.create(
        customer=customer,
        made_by=f"owner@{str(customer).split()[0].lower()}.example" if customer else "admin",
        made_at=timezone.now(),
        note="payer with a thousand SOL",
        signatures=[signature],
        slot=332_254_855,
        outcome="It failed on chain, and succeeds with the changes.",
        request=msgspec.to_builtins(request),
        result=msgspec.json.encode(result),
    )


def _transaction(signature: str, keys: list[str]) -> dict[str, Any]:
    from chain.encodings import b58encode

    transfer = (2).to_bytes(4, "little") + (5 * 10**9).to_bytes(8, "little")
    return {
        "signatures": [signature],
        "message": {
            "accountKeys": keys,
            "header": {
                "numRequiredSignatures": 1,
                "numReadonlySignedAccounts": 0,
                "numReadonlyUnsignedAccounts": 1,
            },
            "instructions": [
                {"programIdIndex": 2, "accounts": [0, 1], "data": b58encode(transfer)}
            ],
            "recentBlockhash": keys[0],
        },
    }


def _meta(had: int, *, failed: bool) -> dict[str, Any]:
    system = "1" * 32
    logs = [f"Program {system} invoke [1]"]
    if failed:
        logs += [
            f"Transfer: insufficient lamports {had - 5_000}, need 5000000000",
            f"Program {system} failed: custom program error: 0x1",
        ]
    else:
        logs.append(f"Program {system} success")
    sent = 0 if failed else 5 * 10**9
    return {
        "err": {"InstructionError": [0, {"Custom": 1}]} if failed else None,
        "fee": 5_000,
        "computeUnitsConsumed": 150,
        "preBalances": [had, 0, 1],
        "postBalances": [had - 5_000 - sent, sent, 1],
        "logMessages": logs,
        "innerInstructions": [],
        "preTokenBalances": [],
        "postTokenBalances": [],
    }
