"""A stake account."""

from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
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


def _meta(cursor: Cursor) -> dict[str, Any]:
    reserve = cursor.u64_text()
    authorized = {"staker": cursor.pubkey(), "withdrawer": cursor.pubkey()}
    until, epoch = cursor.i64(), cursor.u64()
    return {
        "authorized": authorized,
        "lockup": {"custodian": cursor.pubkey(), "epoch": epoch, "unixTimestamp": until},
        "rentExemptReserve": reserve,
    }


def _stake(cursor: Cursor) -> dict[str, Any]:
    voter, stake = cursor.pubkey(), cursor.u64_text()
    activation, deactivation = cursor.u64_text(), cursor.u64_text()
    cursor.f64()  # the warmup rate, which is unused
    return {
        "creditsObserved": cursor.u64(),
        "delegation": {
            "activationEpoch": activation,
            "deactivationEpoch": deactivation,
            "stake": stake,
            "voter": voter,
        },
    }
