"""The archive's answers, field for field as the interface lists them."""

from typing import Literal

from solders.pubkey import Pubkey

from jsonrpc.wire import Result


class GapEntry(Result, frozen=True, kw_only=True):
    """A run of slots whose state the archive does not have, both ends included."""

    from_slot: int
    to_slot: int
    status: Literal["missing", "unknown"]

    @classmethod
    def of(cls, first: int, last: int, status: str | None) -> "GapEntry":
        """Of a gap as the table has it."""
        return cls(
            from_slot=first, to_slot=last, status="missing" if status == "missing" else "unknown"
        )


class Coverage(Result, frozen=True, kw_only=True):
    """What the archive holds of a window. `earliest_slot` and `latest_slot` are the archive's own
    ends, the counts the window's; `gaps` is None where none were asked for.
    """

    earliest_slot: int | None
    latest_slot: int | None
    slot_range: int | None
    missing_slot_count: int
    skipped_slot_count: int
    gap_percent: float | None
    gaps: list[GapEntry] | None
    truncated: bool
    filtered_owners: list[Pubkey]
    filtered_pubkeys: list[Pubkey]
    note: str
