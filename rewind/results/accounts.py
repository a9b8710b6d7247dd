"""The answers of reads at a position, field for field as the interface lists them."""

from typing import Any

from msgspec import UNSET, UnsetType

from jsonrpc.wire import Encoded, Result
from rewind.results.coverage import GapEntry


class Context(Result, frozen=True, kw_only=True):
    """`slot` is the position's. `reason` says why a value is null, or that the archive does not, or
    did not, follow the account. `gap` is the newest run of slots between the state and the position
    that the archive lacks: the account may have been written there. Both are left out where there
    is nothing to say.
    """

    api_version: str
    slot: int
    reason: str | UnsetType = UNSET
    gap: GapEntry | UnsetType = UNSET


class SeveralContext(Result, frozen=True, kw_only=True):
    """`reason` has an entry for each value, null where there is nothing to say; `gap` concerns
    those values that are older than it.
    """

    api_version: str
    slot: int
    reason: list[str | None]
    gap: GapEntry | UnsetType = UNSET


class DiffReason(Result, frozen=True, kw_only=True):
    """What there is to say of each side, as Context has it."""

    a: str | None
    b: str | None


class DiffGap(Result, frozen=True, kw_only=True):
    """Each side's gap, as Context has it."""

    a: GapEntry | None
    b: GapEntry | None


class DiffContext(Result, frozen=True, kw_only=True):
    api_version: str
    reason: DiffReason | UnsetType = UNSET
    gap: DiffGap | UnsetType = UNSET


class AccountSnapshot(Result, frozen=True, kw_only=True):
    """An account as it was. `data` is `[text, encoding]`, or an object where it was parsed; `space`
    is its whole length, `rewind_slot` where the account came to be so.
    """

    lamports: int
    owner: str
    data: Any
    executable: bool
    rent_epoch: int
    space: int
    rewind_slot: int


class AccountInfo(Result, frozen=True, kw_only=True):
    context: Context
    value: AccountSnapshot | None


class MultipleAccounts(Result, frozen=True, kw_only=True):
    """In the order of the request. `truncated_by_bytes`: the answer was full before its end, and
    from some entry on all are null for that.
    """

    context: SeveralContext
    value: list[Encoded | None]
    truncated_by_bytes: bool


class Diff(Result, frozen=True, kw_only=True):
    """What differs from a to b; the deltas are b - a."""

    lamports_delta: int
    owner_changed: bool
    executable_changed: bool
    rent_epoch_delta: int
    data_changed: bool
    data_len_a: int
    data_len_b: int


class AccountPair(Result, frozen=True, kw_only=True):
    """`diff` is null when a side is."""

    a: AccountSnapshot | None
    b: AccountSnapshot | None
    diff: Diff | None


class AccountDiff(Result, frozen=True, kw_only=True):
    context: DiffContext
    value: AccountPair
