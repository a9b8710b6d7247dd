"""The vote program's instructions."""

from typing import Any

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Layout, Parser, variants
from chain.units import U64_MAX


def _authority_type(cursor: Cursor) -> str | dict[str, Any]:
    tag = cursor.u32()
    if tag == 0:
        return "Voter"
    if tag == 1:
        return "Withdrawer"
    if tag == 2:
        pubkey, proof = list(cursor.take(48)), list(cursor.take(96))
        return {"VoterWithBLS": {"bls_proof_of_possession": proof, "bls_pubkey": pubkey}}
    raise UnreadableError


def _commission_kind(cursor: Cursor) -> str:
    tag = cursor.u32()
    if tag > 1:
        raise UnreadableError
    return "BlockRevenue" if tag else "InflationRewards"


def _count(cursor: Cursor, smallest: int) -> int:
    """A length that the data left can hold: an item takes `smallest` bytes or more."""
    count = cursor.u64()
    if count * smallest > len(cursor.data) - cursor.at:
        raise UnreadableError
    return count


def _vote(cursor: Cursor) -> dict[str, Any]:
    slots = [cursor.u64() for _ in range(_count(cursor, 8))]
    return {"hash": cursor.pubkey(), "slots": slots, "timestamp": cursor.optional_i64()}


def _vote_state_update(cursor: Cursor) -> dict[str, Any]:
    lockouts = []
    for _ in range(_count(cursor, 12)):
        slot = cursor.u64()
        lockouts.append({"confirmation_count": cursor.u32(), "slot": slot})
    root = cursor.optional_u64()
    return {
        "hash": cursor.pubkey(),
        "lockouts": lockouts,
        "root": root,
        "timestamp": cursor.optional_i64(),
    }


def _compact_vote_state_update(cursor: Cursor) -> dict[str, Any]:
    start = cursor.u64()
    root = None if start == U64_MAX else start
    lockouts = _offset_lockouts(cursor, root or 0)
    return {
        "hash": cursor.pubkey(),
        "lockouts": lockouts,
        "root": root,
        "timestamp": cursor.optional_i64(),
    }


def _offset_lockouts(cursor: Cursor, slot: int) -> list[dict[str, int]]:
    """Lockouts, each as many slots after the one before as its varint says."""
    lockouts = []
    count = cursor.short_length()
    data, at = cursor.data, cursor.at
    # Most transactions are votes with 31 lockouts of two bytes each: no calls for those.
    for _ in range(count):
        if at + 2 > len(data):
            raise UnreadableError
        offset = data[at]
        at += 1
        if offset >= 0x80:
            cursor.at = at - 1
            offset = cursor.varint()
            confirmation_count = cursor.u8()
            at = cursor.at
        else:
            confirmation_count = data[at]
            at += 1
        slot += offset
        lockouts.append({"confirmation_count": confirmation_count, "slot": slot})
    if slot > U64_MAX:
        raise UnreadableError
    cursor.at = at
    return lockouts


def _tower_sync(cursor: Cursor) -> dict[str, Any]:
    tower_sync = _compact_vote_state_update(cursor)
    return {"blockId": cursor.pubkey(), **tower_sync}


_VOTED = ("voteAccount", "slotHashesSysvar", "clockSysvar", "voteAuthority")
_UPDATED = ("voteAccount", "voteAuthority")
_HASH = ("hash", Cursor.pubkey)
_BASED = ("voteAccount", "clockSysvar", "authorityBaseKey")
_SEEDED = (
    ("authorityType", _authority_type),
    ("authorityOwner", Cursor.pubkey),
    ("authoritySeed", Cursor.bincode_text),
)

_VARIANTS: dict[int, Parser] = {
    0: Layout(
        "initialize",
        ("voteAccount", "rentSysvar", "clockSysvar", "node"),
        (
            (None, Cursor.pubkey),
            ("authorizedVoter", Cursor.pubkey),
            ("authorizedWithdrawer", Cursor.pubkey),
            ("commission", Cursor.u8),
        ),
    ),
    1: Layout(
        "authorize",
        ("voteAccount", "clockSysvar", "authority"),
        (("newAuthority", Cursor.pubkey), ("authorityType", _authority_type)),
    ),
    2: Layout("vote", _VOTED, (("vote", _vote),)),
    3: Layout(
        "withdraw",
        ("voteAccount", "destination", "withdrawAuthority"),
        (("lamports", Cursor.u64),),
    ),
    4: Layout(
        "updateValidatorIdentity", ("voteAccount", "newValidatorIdentity", "withdrawAuthority")
    ),
    5: Layout(
        "updateCommission",
        ("voteAccount", "withdrawAuthority"),
        (("commission", Cursor.u8),),
    ),
    6: Layout("voteSwitch", _VOTED, (("vote", _vote), _HASH)),
    7: Layout(
        "authorizeChecked",
        ("voteAccount", "clockSysvar", "authority", "newAuthority"),
        (("authorityType", _authority_type),),
    ),
    8: Layout("updatevotestate", _UPDATED, (("voteStateUpdate", _vote_state_update),)),
    9: Layout("updatevotestateswitch", _UPDATED, (("voteStateUpdate", _vote_state_update), _HASH)),
    10: Layout("authorizeWithSeed", _BASED, (*_SEEDED, ("newAuthority", Cursor.pubkey))),
    11: Layout("authorizeCheckedWithSeed", (*_BASED, "newAuthority"), _SEEDED),
    12: Layout(
        "compactupdatevotestate", _UPDATED, (("voteStateUpdate", _compact_vote_state_update),)
    ),
    13: Layout(
        "compactupdatevotestateswitch",
        _UPDATED,
        (("voteStateUpdate", _compact_vote_state_update), _HASH),
    ),
    14: Layout("towersync", _UPDATED, (("towerSync", _tower_sync),)),
    15: Layout("towersyncswitch", _UPDATED, (("towerSync", _tower_sync), _HASH)),
    16: Layout(
        "initializeV2",
        ("voteAccount", "node", "inflationRewardsCollector", "blockRevenueCollector"),
        (
            (None, Cursor.pubkey),
            ("authorizedVoter", Cursor.pubkey),
            ("authorizedVoterBlsPubkey", lambda cursor: b64encode(cursor.take(48))),
            ("authorizedVoterBlsProofOfPossession", lambda cursor: b64encode(cursor.take(96))),
            ("authorizedWithdrawer", Cursor.pubkey),
            ("inflationRewardsCommissionBps", Cursor.u16),
            ("blockRevenueCommissionBps", Cursor.u16),
        ),
    ),
    17: Layout(
        "updateCommissionCollector",
        ("voteAccount", "newCollector", "withdrawAuthority"),
        (("commissionKind", _commission_kind),),
    ),
    18: Layout(
        "updateCommissionBps",
        ("voteAccount", "withdrawAuthority"),
        (("commissionBps", Cursor.u16), ("commissionKind", _commission_kind)),
    ),
    19: Layout("depositDelegatorRewards", ("voteAccount", "source"), (("deposit", Cursor.u64),)),
}
# Slots and timestamps are numbers.
parse_vote = variants(_VARIANTS)
