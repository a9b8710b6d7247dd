"""Errors of the archive's methods."""

from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.units import Slot
from historical.errors import SealedDataDamaged
from jsonrpc.errors import InvalidParams, RpcError


class BadPosition(InvalidParams):
    """The params name no position, or more than one."""

    reason = "bad_position"

    def __init__(self, text: str, **data: Any) -> None:
        super().__init__(f"Invalid params: {text}", **data)


class PreStateTooNew(InvalidParams):
    """`preStateSlot` is above the slot in which the transaction is to run."""

    reason = "pre_state_too_new"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__("Invalid params: preStateSlot is above slot", found=found, maximum=maximum)


class BadOverride(InvalidParams):
    """No account can have the state in the override; the message names it and says why."""

    reason = "bad_override"

    def __init__(self, text: str, at: str, **data: Any) -> None:
        super().__init__(f"Invalid params: {text}", at=at, **data)


class OverrideWithoutEffect(InvalidParams):
    """An override, or an entry of `overrideLoads`, has no effect on the simulation; the message
    names it and says why.
    """

    reason = "override_without_effect"

    def __init__(self, pubkey: Pubkey, why: str, at: str) -> None:
        super().__init__(
            f"Invalid params: the override of {pubkey} has no effect: {why}",
            at=f"{at}.{pubkey}",
            pubkey=str(pubkey),
        )
        self.pubkey = pubkey


class IndexOutOfRange(InvalidParams):
    """The slot's block has no transaction with this index."""

    reason = "transaction_index_out_of_range"

    def __init__(self, slot: Slot, found: int, transactions: int) -> None:
        super().__init__(
            f"Invalid params: the block of slot {slot} has {transactions} transactions,"
            f" none at index {found}",
            slot=slot,
            found=found,
            transactions=transactions,
        )


class BadCursor(InvalidParams):
    """The cursor does not come from this method."""

    reason = "bad_cursor"
    text = "Invalid params: the cursor does not come from this method"


class TooManyAccounts(InvalidParams):
    """The call names too many accounts."""

    reason = "too_many_accounts"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(f"Too many inputs provided; max {maximum}", found=found, maximum=maximum)


class TooManyPrograms(InvalidParams):
    """With `idl`, the accounts belong to too many programs."""

    reason = "too_many_programs"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Invalid params: with `idl`, the accounts may belong to {maximum} programs, and not to"
            f" {found}",
            found=found,
            maximum=maximum,
        )


class AccountsTooLarge(InvalidParams):
    """The accounts have more data than one response may have."""

    reason = "accounts_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Invalid params: the accounts have {found} bytes; the maximum is {maximum}",
            found=found,
            maximum=maximum,
        )


class DataTooLong(InvalidParams):
    """The account has more data than base58 supports."""

    reason = "data_too_long_for_base58"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Encoded binary (base 58) data should be at most {maximum} bytes,"
            " please use Base64 encoding.",
            found=found,
            maximum=maximum,
        )


class SliceOfParsed(InvalidParams):
    """The call requests a part of the data and all of it parsed: choose one."""

    reason = "slice_of_parsed_data"
    text = "Invalid params: `dataSlice` is not supported with encoding `jsonParsed`"


class NoAccounts(InvalidParams):
    """The list of accounts is empty."""

    reason = "no_accounts"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Invalid params: expected 1 to {maximum} pubkeys, found none",
            found=0,
            maximum=maximum,
        )


class BadLimit(InvalidParams):
    """The limit is 0."""

    reason = "bad_limit"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Invalid params: expected a limit of 1 to {maximum}, found 0",
            minimum=1,
            maximum=maximum,
            found=0,
        )


class TwoStarts(InvalidParams):
    """The page begins at both a cursor and a transaction."""

    reason = "two_starts"
    text = "Invalid params: expected `before` or `anchor`, found both"


class EncodingRequired(InvalidParams):
    """The call requests data without an `encoding`."""

    reason = "encoding_required"
    text = "Invalid params: missing field `encoding`, required with `includeData`"


class SlotTooNew(RpcError):
    """The slot is above the newest archived one: call a live node. `latestSlot` is null while
    nothing is archived.
    """

    code = -32014
    reason = "slot_too_new"

    def __init__(self, slot: int, latest: Slot | None, side: str = "") -> None:
        window = "nothing is archived yet" if latest is None else f"the newest slot is {latest}"
        super().__init__(
            f"{_of(side)}Slot {slot} is not archived yet: {window}",
            data={"slot": slot, "latestSlot": latest, **_side(side)},
        )


class SlotTooOld(RpcError):
    """The slot is below the archive's window."""

    code = -32015
    reason = "slot_too_old"

    def __init__(self, slot: int, earliest: Slot, side: str = "") -> None:
        super().__init__(
            f"{_of(side)}Slot {slot} is outside the archive: its earliest slot is {earliest}",
            data={"slot": slot, "earliestSlot": earliest, **_side(side)},
        )


class SlotUnproven(RpcError):
    """The slot's bank is unknown: `data.why` is `no_block`, `no_baseline`, `gap_before`,
    `not_computed`, `signature_count_unknown`, `snapshot_differs` or `another_fork`.
    """

    code = -32020
    reason = "slot_unproven"

    def __init__(self, slot: int, why: str) -> None:
        super().__init__(
            f"Slot {slot} has no proof: {why.replace('_', ' ')}", data={"slot": slot, "why": why}
        )


class UnknownSignature(RpcError):
    """No archived slot has a transaction with this signature."""

    code = -32016
    reason = "unknown_signature"

    def __init__(self, signature: Signature, side: str = "") -> None:
        super().__init__(
            f"{_of(side)}Transaction {signature} is not in any archived slot",
            data={"signature": str(signature), **_side(side)},
        )


class ArchiveDamaged(RpcError):
    """Some sealed data failed its checksum. Damaged data is never served."""

    reason = "archive_damaged"

    def __init__(self, segment: int, block: int, fault: str) -> None:
        super().__init__(
            f"Sealed block {block} of segment {segment} is damaged: {fault}",
            data={"segment": segment, "block": block},
        )
        self.segment, self.block, self.fault = segment, block, fault


class ArchiveStoreUnavailable(RpcError):
    """These slots are in cold storage, which cannot be read at the moment. A retry may succeed.
    Other slots are not affected.
    """

    code = -32019
    reason = "archive_store_unavailable"

    def __init__(self, fault: str, slots: tuple[Slot, Slot] | None = None) -> None:
        where = "" if slots is None else f" of slots {slots[0]} to {slots[1]}"
        data = None if slots is None else {"firstSlot": slots[0], "lastSlot": slots[1]}
        super().__init__(f"Cold storage{where} cannot be read: {fault}", data=data)
        self.fault = fault


# What any position may be refused for.
POSITIONS = (
    BadPosition,
    SlotTooNew,
    SlotTooOld,
    UnknownSignature,
    IndexOutOfRange,
    ArchiveDamaged,
    ArchiveStoreUnavailable,
    # A signature names a place of the ledger.
    SealedDataDamaged,
)


class FilteredAccountStale(RpcError):
    """The simulation touches accounts that the archive deliberately does not follow."""

    code = -32017
    reason = "filtered_account"

    def __init__(self, pubkeys: list[Pubkey]) -> None:
        named = ", ".join(map(str, pubkeys[:3])) + (", …" if len(pubkeys) > 3 else "")
        super().__init__(
            f"FilteredAccountStale: writes to {named} are not archived",
            data={"pubkeys": [str(pubkey) for pubkey in pubkeys]},
        )


class SlotInArchiveGap(RpcError):
    """The state at the slot is unknown. `tolerateGaps` returns the state from before the gap."""

    code = -32018
    reason = "slot_in_archive_gap"

    def __init__(
        self, slot: int, first: Slot, last: Slot, status: str, side: str = "", **data: Any
    ) -> None:
        super().__init__(
            f"{_of(side)}{self._text(slot, first, last, status)}",
            data={
                "queriedSlot": slot,
                "gapStart": first,
                "gapEnd": last,
                "gapStatus": status,
                **_side(side),
                **data,
            },
        )

    def _text(self, slot: int, first: Slot, last: Slot, status: str) -> str:
        return f"Slot {slot} is in a gap: slots {first} to {last} are {status} in the archive"


class WritesIncomplete(SlotInArchiveGap):
    """The slot has only the last write of each account, and the account was written after the
    position: its state there is unknown.
    """

    reason = "writes_incomplete"

    def __init__(self, slot: int, pubkey: Pubkey, side: str = "") -> None:
        super().__init__(slot, Slot(slot), Slot(slot), "unknown", side, pubkey=str(pubkey))

    def _text(self, slot: int, first: Slot, last: Slot, status: str) -> str:
        return (
            f"Slot {slot} is archived with only the last write of each account: the state between"
            " its transactions is unknown"
        )


class StateNotRecorded(SlotInArchiveGap):
    """The archive has no record, at or before the position, of an account that the simulation
    loads, and cannot know whether it existed.
    """

    reason = "state_not_recorded"

    def __init__(self, slot: int, earliest: Slot, pubkeys: list[Pubkey]) -> None:
        self._pubkeys = pubkeys
        self.pubkeys = frozenset(pubkeys)
        super().__init__(
            slot,
            Slot(0),
            Slot(max(earliest - 1, 0)),
            "unknown",
            pubkeys=[str(pubkey) for pubkey in pubkeys],
        )

    def _text(self, slot: int, first: Slot, last: Slot, status: str) -> str:
        named = ", ".join(map(str, self._pubkeys[:3])) + (", …" if len(self._pubkeys) > 3 else "")
        return f"The archive has no record of {named} at or before slot {slot}"


class EngineFailed(RpcError):
    """The simulation engine could not run the transaction: its outcome is unknown."""

    reason = "engine_fault"

    def __init__(self, fault: str) -> None:
        super().__init__(f"The simulation engine failed: {fault}", data={"fault": fault})


class SimulationTimedOut(RpcError):
    """The simulation took longer than the limit."""

    reason = "simulation_timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The simulation took longer than {seconds:g} seconds", data={"maximumSeconds": seconds}
        )


class BadSlot(Exception):
    """A slot that cannot be archived; the text names the slot and the fault."""

    def __init__(self, slot: Slot, reason: str) -> None:
        super().__init__(f"slot {slot}: {reason}")
        self.slot = slot
        self.reason = reason


class SlotConflict(BadSlot):
    """A slot that contradicts what is archived: another block, or a chain that leaves it out."""


class BadBuild(Exception):
    """A file that is no build of a program, or slots that another build has."""


class BadBaseline(Exception):
    """Accounts that cannot be a baseline: nothing of them was recorded."""


def _of(side: str) -> str:
    return f"Side {side}: " if side else ""


def _side(side: str) -> dict[str, str]:
    return {"side": side} if side else {}
