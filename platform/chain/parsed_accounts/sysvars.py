"""The sysvars, each at a pubkey of its own."""

from collections.abc import Callable
from typing import Any

from chain import addresses
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import record
from chain.parsed_accounts.raw import RawAccount, entries, finite

CLOCK = str(addresses.CLOCK)

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


def _u128_text(cursor: Cursor) -> str:
    return str(int.from_bytes(cursor.take(16), "little"))


def _list_of(size: int, read: Callable[[Cursor], Any]) -> Callable[[Cursor], list[Any]]:
    return lambda cursor: [read(cursor) for _ in entries(cursor, size)]


def _slot_history(cursor: Cursor) -> dict[str, Any]:
    if not cursor.flag() or cursor.u64() * _BITS_OF_BLOCK != _SLOTS_IN_HISTORY:
        raise UnreadableError
    bits = int.from_bytes(cursor.take(_SLOTS_IN_HISTORY // 8), "little")
    if cursor.u64() != _SLOTS_IN_HISTORY:
        raise UnreadableError
    # The first slot's bit is the lowest, and is written first.
    text = format(bits, f"0{_SLOTS_IN_HISTORY}b")[::-1]
    return {"bits": text, "nextSlot": cursor.u64()}


_clock = record(
    ("slot", Cursor.u64),
    ("epochStartTimestamp", Cursor.i64),
    ("epoch", Cursor.u64),
    ("leaderScheduleEpoch", Cursor.u64),
    ("unixTimestamp", Cursor.i64),
)
_epoch_rewards = record(
    ("distributionStartingBlockHeight", Cursor.u64),
    ("numPartitions", Cursor.u64),
    ("parentBlockhash", Cursor.pubkey),
    ("totalPoints", _u128_text),
    ("totalRewards", Cursor.u64_text),
    ("distributedRewards", Cursor.u64_text),
    ("active", Cursor.flag),
)
_epoch_schedule = record(
    ("slotsPerEpoch", Cursor.u64),
    ("leaderScheduleSlotOffset", Cursor.u64),
    ("warmup", Cursor.flag),
    ("firstNormalEpoch", Cursor.u64),
    ("firstNormalSlot", Cursor.u64),
)
_CALCULATOR = ("feeCalculator", record(("lamportsPerSignature", Cursor.u64_text)))
_recent_blockhash = record(("blockhash", Cursor.pubkey), _CALCULATOR)
# Behind it a threshold and a burn percentage, both unused.
_rent = record(("lamportsPerByte", Cursor.u64_text), (None, lambda cursor: cursor.take(9)))
_rewards = record(("validatorPointValue", lambda cursor: finite(cursor.f64())), (None, Cursor.f64))
_slot_hash = record(("slot", Cursor.u64), ("hash", Cursor.pubkey))
_stake = record(("effective", Cursor.u64), ("activating", Cursor.u64), ("deactivating", Cursor.u64))
_stake_of_epoch = record(("epoch", Cursor.u64), ("stakeHistory", _stake))

_SYSVARS: dict[str | None, tuple[str, Callable[[Cursor], Any]]] = {
    CLOCK: ("clock", _clock),
    str(addresses.EPOCH_REWARDS): ("epochRewards", _epoch_rewards),
    str(addresses.EPOCH_SCHEDULE): ("epochSchedule", _epoch_schedule),
    str(addresses.FEES): ("fees", record(_CALCULATOR)),
    str(addresses.LAST_RESTART_SLOT): (
        "lastRestartSlot",
        record(("lastRestartSlot", Cursor.u64)),
    ),
    str(addresses.RECENT_BLOCKHASHES): (
        "recentBlockhashes",
        _list_of(40, _recent_blockhash),
    ),
    str(addresses.RENT): ("rent", _rent),
    str(addresses.REWARDS): ("rewards", _rewards),
    str(addresses.SLOT_HASHES): ("slotHashes", _list_of(40, _slot_hash)),
    str(addresses.SLOT_HISTORY): ("slotHistory", _slot_history),
    str(addresses.STAKE_HISTORY): ("stakeHistory", _list_of(32, _stake_of_epoch)),
}
