"""What is kept of a replay: each transaction as the chain recorded it and as it ran again."""

from typing import Any

import msgspec

Json = dict[str, Any]


class Proof(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the transaction's replay without changes, at its own place, came to: `verified`,
    `diverged` in these fields, or `unverified`; the reason is a word.
    """

    status: str
    fields: list[str] = []
    reason: str | None = None


class ReplayedTransaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """`transaction` is its JSON as getTransaction has it and `wire` its bytes in base64; `recorded`
    and `replayed` are status metas, None where the ledger's source had none, or where it did not
    run because one before it failed. `charged`: it would be in a block. `differs` are the fields
    of the metas that differ, `touches` the changed accounts that it loads.
    """

    signature: str
    slot: int
    index: int
    transaction: Json
    wire: str
    recorded: Json | None
    replayed: Json | None
    proof: Proof
    charged: bool = True
    differs: list[str] = []
    touches: list[str] = []


class ReplayResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`slot` is the one that they ran in; `completeness` is that of the archive's responses, and so
    are `missing_rules`, which the engine does not have.
    """

    slot: int
    completeness: Json
    transactions: list[ReplayedTransaction]
    missing_rules: list[Json] = []
