"""The answers of getAccountChanges, field for field as the interface lists them."""

from msgspec import UNSET, UnsetType

from jsonrpc.wire import Encoded, Result
from rewind.results.accounts import Context
from rewind.results.coverage import GapEntry


class AccountChange(Result, frozen=True, kw_only=True):
    """One write: the account as it left it. `data_hash` is the SHA-256 of the whole data, and
    `data_changed` says whether the state before had other data. `txn_signature` and
    `transaction_index` are null for writes outside transactions.
    """

    slot: int
    lamports: int
    owner: str
    executable: bool
    rent_epoch: int
    space: int
    data_hash: str
    data_changed: bool
    txn_signature: str | None
    transaction_index: int | None
    data: tuple[str, str] | UnsetType = UNSET


class ChangesPage(Result, frozen=True, kw_only=True):
    """Newest first. `next` leads on, None on the last page; `gaps` are those of the whole range,
    lowest first.
    """

    changes: list[Encoded]
    next: str | None
    truncated_by_bytes: bool
    gaps: list[GapEntry]


class AccountChanges(Result, frozen=True, kw_only=True):
    context: Context
    value: ChangesPage
