"""Submissions as a lander leaves them, and signed transactions that tip."""

import base64
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from priority.models import Attempt, Bundle, Submission
from priority.submissions import State

NOW = datetime.now(UTC)


def signature(number: int = 1) -> Signature:
    """A signature of its own for each number."""
    half = sha256(str(number).encode()).digest()
    return Signature.from_bytes(half + half[::-1])


def stored(key: Any = None, number: int = 1, **columns: Any) -> Submission:
    """A row as the lander writes it, accepted a minute ago in slot 100."""
    values = {
        "signature": signature(number),
        "kind": Submission.Kind.TRANSACTION,
        "key": key,
        "tier": "basic",
        "edge": "edge-1",
        "blockhash": Hash(bytes(32)),
        "accepted_at": NOW - timedelta(seconds=60),
        "accepted_slot": 100,
        "last_valid_block_height": 250,
        **columns,
    }
    return Submission.objects.create(**values)


def landed(key: Any = None, number: int = 1, **columns: Any) -> Submission:
    """One that landed in slot 102 and is final."""
    values = {
        "state": State.LANDED,
        "commitment": "finalized",
        "slot": 102,
        "transaction_index": 7,
        "tries": 2,
        "sent_at": NOW - timedelta(seconds=59),
        "seen_at": NOW - timedelta(seconds=58),
        "settled_at": NOW - timedelta(seconds=45),
        **columns,
    }
    return stored(key, number, **values)


def tried(row: Submission, number: int = 1, **columns: Any) -> Attempt:
    values = {
        "upstream": "leaders",
        "target": "127.0.0.1:8009",
        "number": number,
        "started_at": NOW,
        "latency_us": 1_234,
        "outcome": "sent",
        **columns,
    }
    return Attempt.objects.create(submission=row, **values)


def bundled(
    key: Any = None, numbers: tuple[int, ...] = (1, 2), bundle: Any = None, **columns: Any
) -> Bundle:
    """A bundle of the transactions of these numbers; `bundle` are columns of its own row."""
    names = ",".join(str(signature(number)) for number in numbers)
    made = Bundle.objects.create(
        bundle_id=sha256(names.encode()).hexdigest(), key=key, accepted_at=NOW, **(bundle or {})
    )
    for index, number in enumerate(numbers):
        stored(
            key,
            number,
            kind=Submission.Kind.BUNDLE,
            bundle=made,
            bundle_index=index,
            **columns,
        )
    return made


def tipping_transaction(payer: Keypair, lamports: int = 1_000_000) -> VersionedTransaction:
    """A signed transaction that pays a tip to our first static address."""
    tip = transfer(
        TransferParams(
            from_pubkey=payer.pubkey(), to_pubkey=settings.TIP_ADDRESSES[0], lamports=lamports
        )
    )
    message = MessageV0.try_compile(payer.pubkey(), [tip], [], Hash.new_unique())
    return VersionedTransaction(message, [payer])


def as_base64(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()
