"""Results of reads at a position."""

from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey

from gaps.coverage import GapEntry
from gateway.node_json import EncodedBytes, ParsedData
from jsonrpc.wire import As, Encoded, Result
from rewind.accounts.results.completeness import Completeness
from rewind.explained.results import IdlData
from rewind.proof.results import Standing


class Context(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    api_version: the version of the archive's interface
    slot: the position's slot
    reason: why the value is null (`closed`, `never_existed`, `before_first_record`, `filtered`), or
        `filtered` if the archive does not, or did not, follow the account; else absent
    gap: the newest run of missing slots between the state and the position: the
        account may have been written there; absent without such a run
    completeness: whether the whole history would give the same answer
    proof: whether the cluster voted for what the archive has at the end of the position's slot;
        absent unless requested
    """

    api_version: str
    slot: int
    reason: str | UnsetType = UNSET
    gap: GapEntry | UnsetType = UNSET
    completeness: Completeness
    proof: Standing | UnsetType = UNSET


class AccountContext(Context, frozen=True, kw_only=True):
    """What the answer is based on.

    idl: what an IDL of the account's owner says of its data; null if none reads it; absent unless
        requested
    """

    idl: IdlData | UnsetType | None = UNSET


class SeveralContext(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    api_version: the version of the archive's interface
    slot: the position's slot
    reason: for each value why it is null (`closed`, `never_existed`, `before_first_record`,
        `filtered`, `truncated`); null if there is nothing to say
    gap: the newest run of missing slots below the position: it concerns the values
        that are older than it; absent without such a run
    completeness: whether the whole history would give the same answer
    proof: whether the cluster voted for what the archive has at the end of the position's slot;
        absent unless requested
    idl: for each value what an IDL of the account's owner says of its data; null if none reads it;
        absent unless requested
    """

    api_version: str
    slot: int
    reason: list[str | None]
    gap: GapEntry | UnsetType = UNSET
    completeness: Completeness
    proof: Standing | UnsetType = UNSET
    idl: Annotated[list[Encoded | None], As(list[IdlData | None])] | UnsetType = UNSET


class DiffReason(Result, frozen=True, kw_only=True):
    """What there is to say of each side: a word as getAccountInfo has it, or null.

    a: of the first position
    b: of the second position
    """

    a: str | None
    b: str | None


class DiffGap(Result, frozen=True, kw_only=True):
    """The gap of each side, as getAccountInfo has it, or null.

    a: of the first position
    b: of the second position
    """

    a: GapEntry | None
    b: GapEntry | None


class DiffProof(Result, frozen=True, kw_only=True):
    """Whether the cluster voted for what the archive has at the end of each position's slot.

    a: of the first position
    b: of the second position
    """

    a: Standing
    b: Standing


class DiffContext(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    api_version: the version of the archive's interface
    reason: why a side is null, or a note on it; absent without either
    gap: runs of missing slots; absent without any
    completeness: whether the whole history would give the same answer
    proof: whether the cluster voted for what the archive has; absent unless requested
    """

    api_version: str
    reason: DiffReason | UnsetType = UNSET
    gap: DiffGap | UnsetType = UNSET
    completeness: Completeness
    proof: DiffProof | UnsetType = UNSET


class AccountSnapshot(Result, frozen=True, kw_only=True):
    """An account as it was.

    lamports: its balance
    owner: the program that it belongs to
    data: a pair of text and encoding; an object if it was parsed
    executable: whether it is a program
    rent_epoch: the epoch in which it owes rent; 18446744073709551615 means never
    space: the length of its whole data in bytes
    rewind_slot: the slot in which it came to be so
    """

    lamports: int
    owner: Annotated[str, As(Pubkey)]
    data: Annotated[Any, As(EncodedBytes | ParsedData)]
    executable: bool
    rent_epoch: int
    space: int
    rewind_slot: int


class AccountInfo(Result, frozen=True, kw_only=True):
    """The account, and what the answer is based on.

    context: what the answer is based on
    value: the account; null without a state there, and `context.reason` says why
    """

    context: AccountContext
    value: AccountSnapshot | None


class MultipleAccounts(Result, frozen=True, kw_only=True):
    """The accounts, and what the answer is based on.

    context: what the answer is based on
    value: the accounts in the order of the request; null for one that was not there
    truncated_by_bytes: whether the answer was full before its end: from some entry on all are null
        for that, with the reason `truncated`
    """

    context: SeveralContext
    value: Annotated[list[Encoded | None], As(list[AccountSnapshot | None])]
    truncated_by_bytes: bool


class Diff(Result, frozen=True, kw_only=True):
    """What differs from A to B. Deltas are B minus A.

    lamports_delta: by how much the balance differs
    owner_changed: whether it belongs to another program
    executable_changed: whether it became a program, or stopped being one
    rent_epoch_delta: by how much the rent epoch differs
    data_changed: whether the data differs
    data_len_a: the length of A's data in bytes
    data_len_b: the length of B's data in bytes
    """

    lamports_delta: int
    owner_changed: bool
    executable_changed: bool
    rent_epoch_delta: int
    data_changed: bool
    data_len_a: int
    data_len_b: int


class AccountPair(Result, frozen=True, kw_only=True):
    """The account at both positions.

    a: at the first position; null without a state there
    b: at the second position; null without a state there
    diff: what differs; null when a side is
    """

    a: AccountSnapshot | None
    b: AccountSnapshot | None
    diff: Diff | None


class AccountDiff(Result, frozen=True, kw_only=True):
    """The difference, and what the answer is based on.

    context: what the answer is based on
    value: the account at both positions, and what differs
    """

    context: DiffContext
    value: AccountPair
