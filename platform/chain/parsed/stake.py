"""The stake program's instructions.

Since the program became a Core BPF program, clients may leave out the sysvar and config accounts
that it used to require. It distinguishes the two forms by the sysvar's key at its old index, and so
does this parser.
"""

from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Info, Layout, Parser, Typed, at_least, variant

_CLOCK = "SysvarC1ock11111111111111111111111111111111"
_RENT = "SysvarRent111111111111111111111111111111111"


def parse_stake(accounts: list[str], data: bytes) -> Typed:
    """Type and info of a stake instruction; lamports, epochs and timestamps are numbers."""
    cursor = Cursor(data)
    return variant(_VARIANTS, cursor.u32())(accounts, cursor)


def _authority_type(cursor: Cursor) -> str:
    tag = cursor.u32()
    if tag > 1:
        raise UnreadableError
    return "Withdrawer" if tag else "Staker"


def _put(info: Info, accounts: list[str], at: int, *names: str) -> None:
    """Names the accounts from `at` on; all but the last must be there, and so must `at`."""
    at_least(accounts, at + max(1, len(names) - 1))
    info.update(zip(names, accounts[at:], strict=False))


def _initialize(accounts: list[str], cursor: Cursor) -> Typed:
    staker, withdrawer = cursor.pubkey(), cursor.pubkey()
    timestamp, epoch, custodian = cursor.i64(), cursor.u64(), cursor.pubkey()
    info: Info = {
        "stakeAccount": accounts[0],
        "authorized": {"staker": staker, "withdrawer": withdrawer},
        "lockup": {"custodian": custodian, "epoch": epoch, "unixTimestamp": timestamp},
    }
    if len(accounts) >= 2 and accounts[1] == _RENT:
        info["rentSysvar"] = _RENT
    return "initialize", info


def _authorize(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    info: Info = {
        "stakeAccount": accounts[0],
        "newAuthority": cursor.pubkey(),
        "authorityType": _authority_type(cursor),
    }
    if accounts[1] == _CLOCK:
        _put(info, accounts, 1, "clockSysvar", "authority", "custodian")
    else:
        _put(info, accounts, 1, "authority", "custodian")
    return "authorize", info


def _delegate(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"stakeAccount": accounts[0], "voteAccount": accounts[1]}
    if accounts[2] != _CLOCK:
        info["stakeAuthority"] = accounts[2]
        return "delegate", info
    at_least(accounts, 6)
    _put(
        info,
        accounts,
        2,
        "clockSysvar",
        "stakeHistorySysvar",
        "stakeConfigAccount",
        "stakeAuthority",
    )
    return "delegate", info


def _withdraw(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {
        "stakeAccount": accounts[0],
        "destination": accounts[1],
        "lamports": cursor.u64(),
    }
    if accounts[2] == _CLOCK:
        _put(
            info,
            accounts,
            2,
            "clockSysvar",
            "stakeHistorySysvar",
            "withdrawAuthority",
            "custodian",
        )
    else:
        _put(info, accounts, 2, "withdrawAuthority", "custodian")
    return "withdraw", info


def _deactivate(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    info: Info = {"stakeAccount": accounts[0]}
    if accounts[1] == _CLOCK:
        at_least(accounts, 3)
        _put(info, accounts, 1, "clockSysvar", "stakeAuthority")
    else:
        info["stakeAuthority"] = accounts[1]
    return "deactivate", info


def _merge(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"destination": accounts[0], "source": accounts[1]}
    if accounts[2] == _CLOCK:
        at_least(accounts, 5)
        _put(info, accounts, 2, "clockSysvar", "stakeHistorySysvar", "stakeAuthority")
    else:
        info["stakeAuthority"] = accounts[2]
    return "merge", info


def _lockup(cursor: Cursor) -> dict[str, Any]:
    fields = {"unixTimestamp": cursor.optional_i64(), "epoch": cursor.optional_u64()}
    return {name: value for name, value in fields.items() if value is not None}


def _set_lockup(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    lockup = _lockup(cursor)
    return "setLockup", _with_lockup(accounts, lockup, cursor.optional_pubkey())


def _set_lockup_checked(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    new = accounts[2] if len(accounts) >= 3 else None
    return "setLockupChecked", _with_lockup(accounts, _lockup(cursor), new)


def _with_lockup(accounts: list[str], lockup: dict[str, Any], new: str | None) -> Info:
    if new is not None:
        lockup["custodian"] = new
    return {
        "stakeAccount": accounts[0],
        "custodian": accounts[1],
        "lockup": dict(sorted(lockup.items())),
    }


def _authorize_with_seed(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 2)
    info: Info = {
        "stakeAccount": accounts[0],
        "authorityBase": accounts[1],
        "newAuthorized": cursor.pubkey(),
        "authorityType": _authority_type(cursor),
        "authoritySeed": cursor.bincode_text(),
        "authorityOwner": cursor.pubkey(),
    }
    if len(accounts) >= 3:
        if accounts[2] == _CLOCK:
            _put(info, accounts, 2, "clockSysvar", "custodian")
        else:
            info["custodian"] = accounts[2]
    return "authorizeWithSeed", info


def _authorize_checked_with_seed(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {
        "stakeAccount": accounts[0],
        "authorityBase": accounts[1],
        "authorityType": _authority_type(cursor),
        "authoritySeed": cursor.bincode_text(),
        "authorityOwner": cursor.pubkey(),
    }
    if accounts[2] == _CLOCK:
        _put(info, accounts, 2, "clockSysvar", "newAuthorized", "custodian")
    else:
        _put(info, accounts, 2, "newAuthorized", "custodian")
    return "authorizeCheckedWithSeed", info


def _initialize_checked(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"stakeAccount": accounts[0]}
    if accounts[1] == _RENT:
        at_least(accounts, 4)
        _put(info, accounts, 1, "rentSysvar", "staker", "withdrawer")
    else:
        _put(info, accounts, 1, "staker", "withdrawer")
    return "initializeChecked", info


def _authorize_checked(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"stakeAccount": accounts[0], "authorityType": _authority_type(cursor)}
    if accounts[1] == _CLOCK:
        _put(info, accounts, 1, "clockSysvar", "authority", "newAuthority", "custodian")
    else:
        _put(info, accounts, 1, "authority", "newAuthority", "custodian")
    return "authorizeChecked", info


def _get_minimum_delegation(accounts: list[str], cursor: Cursor) -> Typed:
    return "getMinimumDelegation", None


_MOVED = ("source", "destination", "stakeAuthority")
_LAMPORTS = (("lamports", Cursor.u64),)

_VARIANTS: dict[int, Parser] = {
    0: _initialize,
    1: _authorize,
    2: _delegate,
    3: Layout("split", ("stakeAccount", "newSplitAccount", "stakeAuthority"), _LAMPORTS),
    4: _withdraw,
    5: _deactivate,
    6: _set_lockup,
    7: _merge,
    8: _authorize_with_seed,
    9: _initialize_checked,
    10: _authorize_checked,
    11: _authorize_checked_with_seed,
    12: _set_lockup_checked,
    13: _get_minimum_delegation,
    14: Layout("deactivateDelinquent", ("stakeAccount", "voteAccount", "referenceVoteAccount")),
    15: Layout(
        "redelegate",
        (
            "stakeAccount",
            "newStakeAccount",
            "voteAccount",
            "stakeConfigAccount",
            "stakeAuthority",
        ),
    ),
    16: Layout("moveStake", _MOVED, _LAMPORTS),
    17: Layout("moveLamports", _MOVED, _LAMPORTS),
}
