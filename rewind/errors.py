"""Errors of the archive's methods."""

from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.units import Slot
from jsonrpc.errors import InvalidParams, RpcError


class BadPosition(InvalidParams):
    """A position named in no way, or in more than one."""

    reason = "bad_position"

    def __init__(self, text: str, **data: Any) -> None:
        super().__init__(f"Invalid params: {text}", **data)


class PreStateTooNew(InvalidParams):
    """Accounts asked for from a slot above the one that the transaction is to run in."""

    reason = "pre_state_too_new"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__("Invalid params: preStateSlot is above slot", found=found, maximum=maximum)


class BadOverride(InvalidParams):
    """An override that no account can have; the text says which and why."""

    reason = "bad_override"

    def __init__(self, text: str, at: str, **data: Any) -> None:
        super().__init__(f"Invalid params: {text}", at=at, **data)


class OverrideWithoutEffect(InvalidParams):
    """An override, or an entry of `overrideLoads`, that the simulation cannot take notice of; the
    text says which and why.
    """

    reason = "override_without_effect"

    def __init__(self, pubkey: Pubkey, why: str, at: str) -> None:
        super().__init__(
            f"Invalid params: the override of {pubkey} can have no effect: {why}",
            at=f"{at}.{pubkey}",
            pubkey=str(pubkey),
        )
        self.pubkey = pubkey


class IndexOutOfRange(InvalidParams):
    """The slot's block has no transaction of that index."""

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
    """A cursor that this service did not give out."""

    reason = "bad_cursor"

    def __init__(self) -> None:
        super().__init__("Invalid params: the cursor is not one that this method gave out")


class TooManyAccounts(InvalidParams):
    """More accounts in one call than are served."""

    reason = "too_many_accounts"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(f"Too many inputs provided; max {maximum}", found=found, maximum=maximum)


class AccountsTooLarge(InvalidParams):
    """The accounts hold more data than one response may have."""

    reason = "accounts_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Invalid params: the accounts hold {found} bytes; at most {maximum} are returned",
            found=found,
            maximum=maximum,
        )


class DataTooLong(InvalidParams):
    """More account data than is written in base58."""

    reason = "data_too_long_for_base58"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Encoded binary (base 58) data should be at most {maximum} bytes,"
            " please use Base64 encoding.",
            found=found,
            maximum=maximum,
        )


class SliceOfParsed(InvalidParams):
    """A part of the data, and all of it parsed: only one can be had."""

    reason = "slice_of_parsed_data"

    def __init__(self) -> None:
        super().__init__("Invalid params: `dataSlice` cannot be had with encoding `jsonParsed`")


class NoAccounts(InvalidParams):
    """An empty list of accounts."""

    reason = "no_accounts"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Invalid params: expected 1 to {maximum} pubkeys, found none",
            found=0,
            maximum=maximum,
        )


class BadLimit(InvalidParams):
    """A page without entries."""

    reason = "bad_limit"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Invalid params: expected a limit of 1 to {maximum}, found 0",
            minimum=1,
            maximum=maximum,
            found=0,
        )


class TwoStarts(InvalidParams):
    """A page that begins at a cursor and at a transaction."""

    reason = "two_starts"

    def __init__(self) -> None:
        super().__init__("Invalid params: expected `before` or `anchor`, found both")


class EncodingRequired(InvalidParams):
    """Data is wanted, and nothing says how it is to be written."""

    reason = "encoding_required"

    def __init__(self) -> None:
        super().__init__("Invalid params: missing field `encoding`, required with `includeData`")


class SlotTooNew(RpcError):
    """The slot is above the newest archived one: ask a live node. `latestSlot` is null while
    nothing is archived.
    """

    code = -32014
    reason = "slot_too_new"

    def __init__(self, slot: int, latest: Slot | None, side: str = "") -> None:
        window = "nothing is archived yet" if latest is None else f"the newest archived is {latest}"
        super().__init__(
            f"{_of(side)}Slot {slot} is not archived yet: {window}",
            data={"slot": slot, "latestSlot": latest, **_side(side)},
        )


class SlotTooOld(RpcError):
    """The slot lies below the archive's window."""

    code = -32015
    reason = "slot_too_old"

    def __init__(self, slot: int, earliest: Slot, side: str = "") -> None:
        super().__init__(
            f"{_of(side)}Slot {slot} is outside the archive: its earliest slot is {earliest}",
            data={"slot": slot, "earliestSlot": earliest, **_side(side)},
        )


class SlotUnproven(RpcError):
    """Nothing is known of the slot's bank: `data.why` is `no_block`, `no_baseline`, `gap_before`,
    `not_computed`, `signature_count_unknown`, `snapshot_differs` or `another_fork`.
    """

    code = -32020
    reason = "slot_unproven"

    def __init__(self, slot: int, why: str) -> None:
        super().__init__(
            f"Slot {slot} has no proof: {why.replace('_', ' ')}", data={"slot": slot, "why": why}
        )


class UnknownSignature(RpcError):
    """No archived slot has a transaction of that signature."""

    code = -32016
    reason = "unknown_signature"

    def __init__(self, signature: Signature, side: str = "") -> None:
        super().__init__(
            f"{_of(side)}Transaction {signature} is in no archived slot",
            data={"signature": str(signature), **_side(side)},
        )


class ArchiveDamaged(RpcError):
    """What the archive stores of some sealed changes is not what was sealed: it is never served."""

    reason = "archive_damaged"

    def __init__(self, segment: int, block: int, fault: str) -> None:
        super().__init__(
            f"Sealed block {block} of segment {segment} is damaged: {fault}",
            data={"segment": segment, "block": block},
        )
        self.segment, self.block, self.fault = segment, block, fault


class ArchiveStoreUnavailable(RpcError):
    """These slots lie in cold storage, which cannot be read at the moment: another try may succeed.
    Other slots are not affected.
    """

    code = -32019
    reason = "archive_store_unavailable"

    def __init__(self, fault: str, slots: tuple[Slot, Slot] | None = None) -> None:
        where = "" if slots is None else f" where slots {slots[0]} to {slots[1]} lie"
        data = None if slots is None else {"firstSlot": slots[0], "lastSlot": slots[1]}
        super().__init__(f"Cold storage{where} cannot be read: {fault}", data=data)
        self.fault = fault


# What any position may be refused for.
POSITIONS = (
    *(BadPosition, SlotTooNew, SlotTooOld, UnknownSignature, IndexOutOfRange),
    *(ArchiveDamaged, ArchiveStoreUnavailable),
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
    """The state at the slot is not known. `tolerateGaps` asks for what was known before."""

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
        return f"Slot {slot} lies in slots {first} to {last}, which are {status} in the archive"


class WritesIncomplete(SlotInArchiveGap):
    """Of the slot only each account's last write is known, and the account was written after the
    position: its state there is not known.
    """

    reason = "writes_incomplete"

    def __init__(self, slot: int, pubkey: Pubkey, side: str = "") -> None:
        super().__init__(slot, Slot(slot), Slot(slot), "unknown", side, pubkey=str(pubkey))

    def _text(self, slot: int, first: Slot, last: Slot, status: str) -> str:
        return (
            f"Slot {slot} is archived with each account's last write alone: its state between"
            " transactions is unknown"
        )


class StateNotRecorded(SlotInArchiveGap):
    """An account that a simulation loads has no record at or before the position, and
    whether it existed is not known.
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
    """The simulation engine could not run the transaction: nothing is known of its outcome."""

    reason = "engine_fault"

    def __init__(self, fault: str) -> None:
        super().__init__(f"The simulation engine failed: {fault}", data={"fault": fault})


class SimulationTimedOut(RpcError):
    """The simulation took longer than it may."""

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
