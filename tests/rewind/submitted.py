"""Submissions of a customer that stand in a little chain's blocks."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from solders.transaction import VersionedTransaction

from tests.rewind.little_chain import LittleChain


def submission(
    chain: LittleChain, transaction: VersionedTransaction, key: Any, **values: Any
) -> Any:
    """The row of a transaction that is in a block of the chain."""
    from priority.models import Submission

    now = timezone.now()
    for record in chain.records:
        for index, each in enumerate(record.transactions):
            if each.signature != bytes(transaction.signatures[0]):
                continue
            has_failed = bool((each.meta or {}).get("err")) if isinstance(each.meta, dict) else None
            return Submission.objects.create(
                **{
                    "signature": transaction.signatures[0],
                    "kind": "transaction",
                    "blockhash": transaction.message.recent_blockhash,
                    "key": key,
                    "accepted_at": now,
                    "state": "failed" if has_failed else "landed",
                    "commitment": "finalized",
                    "sent_at": now,
                    "seen_at": now,
                    "settled_at": now,
                    "slot": record.slot,
                    "transaction_index": index,
                    "tier": "elite",
                    **values,
                }
            )
    raise AssertionError("the transaction is in no block")


def bundle(
    chain: LittleChain, transactions: Sequence[VersionedTransaction], key: Any, name: str = "ab"
) -> Any:
    """The bundle of these transactions."""
    from priority.models import Bundle

    now = timezone.now()
    made = Bundle.objects.create(
        bundle_id=name * 32, key=key, state="landed", accepted_at=now, slot=1, settled_at=now
    )
    for number, each in enumerate(transactions):
        submission(chain, each, key, kind="bundle", bundle=made, bundle_index=number)
    return made
