"""The stake program's instructions.

Since the program became a Core BPF program, clients may leave out the sysvar and config accounts
that it used to require. It distinguishes the two forms by the sysvar's key at its old index, and so
does this parser.
"""

from dataclasses import replace
from typing import Any

from chain import addresses
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Info, Layout, Parser, Typed, at_least, variants

_CLOCK = str(addresses.CLOCK)
_RENT = str(addresses.RENT)


def _authority_type(cursor: Cursor) -> str:
    tag = cursor.u32()
    if tag > 1:
        raise UnreadableError
    return "Withdrawer" if tag else "Staker"


def _either(layout: Layout, at: int, *sysvars: str, first: str = _CLOCK) -> Parser:
    """The layout as it is, or with sysvars from index `at` on, if the `first` of them is there."""
    names = layout.accounts
    longer = replace(layout, accounts=(*names[:at], *sysvars, *names[at:]))

    def parse(accounts: list[str], cursor: Cursor) -> Typed:
        has_sysvars = len(accounts) > at and accounts[at] == first
        return (longer if has_sysvars else layout)(accounts, cursor)

    return parse


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


def _get_minimum_delegation(accounts: list[str], cursor: Cursor) -> Typed:
    return "getMinimumDelegation", None


_LAMPORTS = (("lamports", Cursor.u64),)
_TYPE = ("authorityType", _authority_type)
_BASED = ("stakeAccount", "authorityBase")
_SEEDED = (_TYPE, ("authoritySeed", Cursor.bincode_text), ("authorityOwner", Cursor.pubkey))
_CUSTODIAN = ("custodian",)
_MOVED = ("source", "destination", "stakeAuthority")

_VARIANTS: dict[int, Parser] = {
    0: _initialize,
    1: _either(
        Layout(
            "authorize",
            ("stakeAccount", "authority"),
            (("newAuthority", Cursor.pubkey), _TYPE),
            optional=_CUSTODIAN,
        ),
        1,
        "clockSysvar",
    ),
    2: _either(
        Layout("delegate", ("stakeAccount", "voteAccount", "stakeAuthority")),
        2,
        "clockSysvar",
        "stakeHistorySysvar",
        "stakeConfigAccount",
    ),
    3: Layout("split", ("stakeAccount", "newSplitAccount", "stakeAuthority"), _LAMPORTS),
    4: _either(
        Layout(
            "withdraw",
            ("stakeAccount", "destination", "withdrawAuthority"),
            _LAMPORTS,
            optional=_CUSTODIAN,
        ),
        2,
        "clockSysvar",
        "stakeHistorySysvar",
    ),
    5: _either(Layout("deactivate", ("stakeAccount", "stakeAuthority")), 1, "clockSysvar"),
    6: _set_lockup,
    7: _either(
        Layout("merge", ("destination", "source", "stakeAuthority")),
        2,
        "clockSysvar",
        "stakeHistorySysvar",
    ),
    8: _either(
        Layout(
            "authorizeWithSeed",
            _BASED,
            (("newAuthorized", Cursor.pubkey), *_SEEDED),
            optional=_CUSTODIAN,
        ),
        2,
        "clockSysvar",
    ),
    9: _either(
        Layout("initializeChecked", ("stakeAccount", "staker", "withdrawer")),
        1,
        "rentSysvar",
        first=_RENT,
    ),
    10: _either(
        Layout(
            "authorizeChecked",
            ("stakeAccount", "authority", "newAuthority"),
            (_TYPE,),
            optional=_CUSTODIAN,
        ),
        1,
        "clockSysvar",
    ),
    11: _either(
        Layout(
            "authorizeCheckedWithSeed", (*_BASED, "newAuthorized"), _SEEDED, optional=_CUSTODIAN
        ),
        2,
        "clockSysvar",
    ),
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
# Lamports, epochs and timestamps are numbers.
parse_stake = variants(_VARIANTS)
