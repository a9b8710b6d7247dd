"""A vote account: every version is shown as the fourth, as the node does it since 3.1."""

from typing import Any

from chain.encodings import b58encode
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import record
from chain.parsed_accounts.raw import RawAccount, entries

_V1_14_11, _V3, _V4 = 1, 2, 3
_BPS_PER_PERCENT = 100
_WHOLE_BPS = 10_000
_BLS_PUBKEY_SIZE = 48
# The voters, the place of the last one, and whether there is none: skipped, whatever they are.
_PRIOR_VOTERS_SIZE = 32 * (32 + 8 + 8) + 8 + 1


def parse_vote_account(raw: RawAccount) -> dict[str, Any]:
    """The authorities and collectors, the tower of votes and the credits by epoch."""
    cursor = Cursor(raw.data)
    version = cursor.u32()
    if version not in (_V1_14_11, _V3, _V4):
        raise UnreadableError
    node, withdrawer = cursor.pubkey(), cursor.pubkey()
    income = _income(cursor) if version == _V4 else _income_before(cursor, raw.pubkey, node)
    votes = _votes(cursor, with_latency=version != _V1_14_11)
    root_slot = cursor.optional_u64()
    voters = _authorized_voters(cursor)
    if version != _V4:
        cursor.take(_PRIOR_VOTERS_SIZE)
    info = {
        **income,
        "authorizedVoters": voters,
        "authorizedWithdrawer": withdrawer,
        # A u8 in the node, whatever the basis points; a part of a percent is a whole one.
        "commission": min(-(-income["inflationRewardsCommissionBps"] // _BPS_PER_PERCENT), 0xFF),
        "epochCredits": [_earned(cursor) for _ in entries(cursor, 24)],
        "lastTimestamp": _last_timestamp(cursor),
        "nodePubkey": node,
        # The fourth version keeps none, and what is older is shown as if it were of it.
        "priorVoters": [],
        "rootSlot": root_slot,
        "votes": votes,
    }
    return {"info": dict(sorted(info.items())), "type": "vote"}


def authorized_voters(data: bytes) -> dict[int, bytes]:
    """Who may sign the account's votes, by the epoch that each begins with; what else is in the
    account is passed over. Raises UnreadableError.
    """
    cursor = Cursor(data)
    version = cursor.u32()
    if version not in (_V1_14_11, _V3, _V4):
        raise UnreadableError
    cursor.take(64)  # the node, the withdrawer
    if version == _V4:
        cursor.take(64 + 2 + 2 + 8)  # collectors, their commissions, pending rewards
        if cursor.flag():
            cursor.take(_BLS_PUBKEY_SIZE)
    else:
        cursor.take(1)  # the commission
    size = 12 if version == _V1_14_11 else 13
    cursor.take(size * len(entries(cursor, size)))
    cursor.optional_u64()  # the root
    return {cursor.u64(): cursor.take(32) for _ in entries(cursor, 40)}


def _bls_pubkey(cursor: Cursor) -> str | None:
    return b58encode(cursor.take(_BLS_PUBKEY_SIZE)) if cursor.flag() else None


_income = record(
    ("inflationRewardsCollector", Cursor.pubkey),
    ("blockRevenueCollector", Cursor.pubkey),
    ("inflationRewardsCommissionBps", Cursor.u16),
    ("blockRevenueCommissionBps", Cursor.u16),
    ("pendingDelegatorRewards", Cursor.u64_text),
    ("blsPubkeyCompressed", _bls_pubkey),
)


def _income_before(cursor: Cursor, pubkey: str | None, node: str) -> dict[str, Any]:
    if pubkey is None:
        raise UnreadableError
    return {
        "blockRevenueCollector": node,
        "blockRevenueCommissionBps": _WHOLE_BPS,
        "blsPubkeyCompressed": None,
        "inflationRewardsCollector": pubkey,
        "inflationRewardsCommissionBps": cursor.u8() * _BPS_PER_PERCENT,
        "pendingDelegatorRewards": "0",
    }


def _votes(cursor: Cursor, *, with_latency: bool) -> list[dict[str, Any]]:
    votes = []
    for _ in entries(cursor, 13 if with_latency else 12):
        latency = cursor.u8() if with_latency else 0
        slot = cursor.u64()
        votes.append({"confirmationCount": cursor.u32(), "latency": latency, "slot": slot})
    return votes


def _authorized_voters(cursor: Cursor) -> list[dict[str, Any]]:
    by_epoch = {}
    for _ in entries(cursor, 40):
        epoch = cursor.u64()
        by_epoch[epoch] = cursor.pubkey()
    return [{"authorizedVoter": by_epoch[epoch], "epoch": epoch} for epoch in sorted(by_epoch)]


_earned = record(
    ("epoch", Cursor.u64), ("credits", Cursor.u64_text), ("previousCredits", Cursor.u64_text)
)
_last_timestamp = record(("slot", Cursor.u64), ("timestamp", Cursor.i64))
