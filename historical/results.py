"""The ledger's answers, field for field as the standard node has them."""

from typing import Literal

import msgspec

from jsonrpc.wire import Encoded, Result


class Context(Result, frozen=True, kw_only=True):
    """The newest slot that the answer is based on, and which node's words it speaks."""

    slot: int
    api_version: str


class SignatureStatus(Result, frozen=True, kw_only=True):
    """`confirmations` is null because everything in the ledger is finalized."""

    slot: int
    err: msgspec.Raw
    status: dict[str, msgspec.Raw]
    confirmations: None = None
    confirmation_status: Literal["finalized"] = "finalized"


class SignatureStatuses(Result, frozen=True, kw_only=True):
    context: Context
    value: list[SignatureStatus | None]


class AddressSignature(Result, frozen=True, kw_only=True):
    """One transaction of an address's list; block_time in Unix seconds."""

    signature: str
    slot: int
    err: msgspec.Raw
    memo: msgspec.Raw
    block_time: int | None
    confirmation_status: Literal["finalized"] = "finalized"


class AddressTransaction(AddressSignature, frozen=True, kw_only=True):
    """The same with the transaction's place in its block."""

    transaction_index: int


class AddressTransactions(Result, frozen=True, kw_only=True):
    """A page of getTransactionsForAddress; no token on the last page."""

    data: list[AddressTransaction] | list[Encoded]
    pagination_token: str | None
