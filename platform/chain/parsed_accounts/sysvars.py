"""The sysvars, each at a pubkey of its own."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed_accounts.raw import RawAccount, entries, finite

CLOCK = "SysvarC1ock11111111111111111111111111111111"

_SLOTS_IN_HISTORY = 1024 * 1024
_BITS_OF_BLOCK = 64


def parse_sysvar_account(raw: RawAccount) -> dict[str, Any]:
    """The sysvar that the pubkey names."""
    known = _SYSVARS.get(raw.pubkey)
    if known is None:
        raise UnreadableError
    kind, read = known
    return {"info": read(Cursor(raw.data)), "type": kind}


def clock_timestamp(data: bytes) -> int | None:
    """The cluster's time in the data of the Clock sysvar."""
    try:
        timestamp: int = _clock(Cursor(data))["unixTimestamp"]
    except UnreadableError:
        return None
    return timestamp


def _clock(cursor: Cursor) -> dict[str, Any]:
    slot, epoch_start, epoch = cursor.u64(), cursor.i64(), cursor.u64()
    return {
        "epoch": epoch,
        "epochStartTimestamp": epoch_start,
        "leaderScheduleEpoch": cursor.u64(),
        "slot": slot,
        "unixTimestamp": cursor.i64(),
    }


def _epoch_rewards(cursor: Cursor) -> dict[str, Any]:
    height, partitions, blockhash = cursor.u64(), cursor.u64(), cursor.pubkey()
    points = int.from_bytes(cursor.take(16), "little")
    total, distributed = cursor.u64_text(), cursor.u64_text()
    return {
        "active": cursor.flag(),
        "distributedRewards": distributed,
        "distributionStartingBlockHeight": height,
        "numPartitions": partitions,
        "parentBlockhash": blockhash,
        "totalPoints": str(points),
        "totalRewards": total,
    }


def _epoch_schedule(cursor: Cursor) -> dict[str, Any]:
    slots, offset, warmup = cursor.u64(), cursor.u64(), cursor.flag()
    return {
        "firstNormalEpoch": cursor.u64(),
        "firstNormalSlot": cursor.u64(),
        "leaderScheduleSlotOffset": offset,
        "slotsPerEpoch": slots,
        "warmup": warmup,
    }


def _fees(cursor: Cursor) -> dict[str, Any]:
    return {"feeCalculator": {"lamportsPerSignature": cursor.u64_text()}}


def _last_restart_slot(cursor: Cursor) -> dict[str, Any]:
    return {"lastRestartSlot": cursor.u64()}


def _recent_blockhashes(cursor: Cursor) -> list[dict[str, Any]]:
    return [{"blockhash": cursor.pubkey(), **_fees(cursor)} for _ in entries(cursor, 40)]


def _rent(cursor: Cursor) -> dict[str, Any]:
    per_byte = cursor.u64_text()
    # A threshold and a burn percentage, both unused.
    cursor.take(9)
    return {"lamportsPerByte": per_byte}


def _rewards(cursor: Cursor) -> dict[str, Any]:
    value = finite(cursor.f64())
    cursor.f64()  # unused
    return {"validatorPointValue": value}


def _slot_hashes(cursor: Cursor) -> list[dict[str, Any]]:
    found = []
    for _ in entries(cursor, 40):
        slot = cursor.u64()
        found.append({"hash": cursor.pubkey(), "slot": slot})
    return found


def _slot_history(cursor: Cursor) -> dict[str, Any]:
    if not cursor.flag() or cursor.u64() * _BITS_OF_BLOCK != _SLOTS_IN_HISTORY:
        raise UnreadableError
    bits = int.from_bytes(cursor.take(_SLOTS_IN_HISTORY // 8), "little")
    if cursor.u64() != _SLOTS_IN_HISTORY:
        raise UnreadableError
    # The first slot's bit is the lowest, and is written first.
    text = format(bits, f"0{_SLOTS_IN_HISTORY}b")[::-1]
    return {"bits": text, "nextSlot": cursor.u64()}


def _stake_history(cursor: Cursor) -> list[dict[str, Any]]:
    found = []
    for _ in entries(cursor, 32):
        epoch, effective, activating = cursor.u64(), cursor.u64(), cursor.u64()
        stake = {
            "activating": activating,
            "deactivating": cursor.u64(),
            "effective": effective,
        }
        found.append({"epoch": epoch, "stakeHistory": stake})
    return found


_SYSVARS: dict[str | None, tuple[str, Callable[[Cursor], Any]]] = {
    CLOCK: ("clock", _clock),
    "SysvarEpochRewards1111111111111111111111111": ("epochRewards", _epoch_rewards),
    "SysvarEpochSchedu1e111111111111111111111111": ("epochSchedule", _epoch_schedule),
    "SysvarFees111111111111111111111111111111111": ("fees", _fees),
    "SysvarLastRestartS1ot1111111111111111111111": ("lastRestartSlot", _last_restart_slot),
    "SysvarRecentB1ockHashes11111111111111111111": ("recentBlockhashes", _recent_blockhashes),
    "SysvarRent111111111111111111111111111111111": ("rent", _rent),
    "SysvarRewards111111111111111111111111111111": ("rewards", _rewards),
    "SysvarS1otHashes111111111111111111111111111": ("slotHashes", _slot_hashes),
    "SysvarS1otHistory11111111111111111111111111": ("slotHistory", _slot_history),
    "SysvarStakeHistory1111111111111111111111111": ("stakeHistory", _stake_history),
}
