"""Results of getAccountChanges."""

from typing import Annotated

from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey
from solders.signature import Signature

from gaps.coverage import GapEntry
from gateway.node_json import EncodedBytes
from jsonrpc.wire import As, Encoded, Result
from rewind.accounts.results.accounts import Context


class AccountChange(Result, frozen=True, kw_only=True):
    """One write: the account as it left it.

    slot: the slot of the write
    lamports: the balance afterwards
    owner: the program that it belonged to
    executable: whether it was a program
    rent_epoch: the epoch in which it owed rent; 18446744073709551615 means never
    space: the length of its whole data in bytes
    data_hash: SHA-256 of the whole data, in hex
    data_changed: whether the state before had other data
    txn_signature: the transaction that wrote it; null for writes outside transactions
    transaction_index: the place of that transaction in its block; null for writes outside them
    data: a pair of text and encoding; absent unless `includeData` is true
    """

    slot: int
    lamports: int
    owner: Annotated[str, As(Pubkey)]
    executable: bool
    rent_epoch: int
    space: int
    data_hash: str
    data_changed: bool
    txn_signature: Annotated[str | None, As(Signature | None)]
    transaction_index: int | None
    data: Annotated[tuple[str, str], As(EncodedBytes)] | UnsetType = UNSET


class ChangesPage(Result, frozen=True, kw_only=True):
    """A page of writes.

    changes: the writes, newest first
    next: give it as `before` for the next page; null on the last one
    truncated_by_bytes: whether the page is shorter than asked for because it was full
    gaps: runs of missing slots in the whole range, lowest first
    """

    changes: Annotated[list[Encoded], As(list[AccountChange])]
    next: str | None
    truncated_by_bytes: bool
    gaps: list[GapEntry]


class AccountChanges(Result, frozen=True, kw_only=True):
    """The writes, and what the answer is based on.

    context: what the answer is based on; `reason` reports writes that were not archived
    value: the page
    """

    context: Context
    value: ChangesPage
