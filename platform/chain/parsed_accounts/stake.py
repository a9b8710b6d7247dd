"""A stake account."""

from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import record
from chain.parsed_accounts.raw import RawAccount

_UNINITIALIZED, _INITIALIZED, _DELEGATED, _REWARDS_POOL = range(4)


def parse_stake_account(raw: RawAccount) -> dict[str, Any]:
    """The authorities, lockup and delegation of a stake."""
    cursor = Cursor(raw.data)
    state = cursor.u32()
    if state == _UNINITIALIZED:
        return {"type": "uninitialized"}
    if state == _REWARDS_POOL:
        return {"type": "rewardsPool"}
    if state == _INITIALIZED:
        return {"info": {"meta": _meta(cursor), "stake": None}, "type": "initialized"}
    if state != _DELEGATED:
        raise UnreadableError
    info = {"meta": _meta(cursor), "stake": _stake(cursor)}
    cursor.u8()  # flags, which are not shown
    return {"info": info, "type": "delegated"}


_lockup = record(("unixTimestamp", Cursor.i64), ("epoch", Cursor.u64), ("custodian", Cursor.pubkey))
_meta = record(
    ("rentExemptReserve", Cursor.u64_text),
    ("authorized", record(("staker", Cursor.pubkey), ("withdrawer", Cursor.pubkey))),
    ("lockup", _lockup),
)
_delegation = record(
    ("voter", Cursor.pubkey),
    ("stake", Cursor.u64_text),
    ("activationEpoch", Cursor.u64_text),
    ("deactivationEpoch", Cursor.u64_text),
    (None, Cursor.f64),  # the warmup rate, which is unused
)
_stake = record(("delegation", _delegation), ("creditsObserved", Cursor.u64))
