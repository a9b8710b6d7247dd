"""What an account's data says, for its pages in the admin."""

from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from chain.explained.programs import NAMES
from chain.shown_text import escaped
from rewind.accounts.store.account_history import WholeWrite
from rewind.explained.admin.explained import MOST_ROWS, idl_name
from rewind.explained.services.accounts import ReadAccount, read_account
from staff.formatting import in_full, lamports


def state_of(pubkey: Pubkey, row: WholeWrite) -> dict[str, Any]:
    """The account as a row has it, for templates/admin/rewind/account/history.html."""
    read = read_row(pubkey, row)
    owner = NAMES.get(str(row.owner), "")
    return {
        "slot": row.slot,
        "owner": in_full(row.owner),
        "owner_name": owner,
        "lamports": lamports(row.lamports),
        "size": len(row.data),
        "kind": escaped(read.decoded.kind),
        "members": _members(read)[:MOST_ROWS],
        "is_unreadable": read.decoded.info is None and bool(read.decoded.kind),
        "idl": "" if read.known is None else idl_name(read.known),
    }


def changed_members(a: ReadAccount, b: ReadAccount) -> list[dict[str, str | None]]:
    """The members that differ between two states."""
    sides = dict(_members(a)), dict(_members(b))
    names = dict.fromkeys([*sides[0], *sides[1]])
    rows = ({"name": name, "a": sides[0].get(name), "b": sides[1].get(name)} for name in names)
    return [row for row in rows if row["a"] != row["b"]][:MOST_ROWS]


def read_row(pubkey: Pubkey, row: WholeWrite) -> ReadAccount:
    account = Account(row.lamports, row.data, row.owner, row.executable, row.rent_epoch)
    return read_account(pubkey, account, row.slot)


def _members(read: ReadAccount) -> list[tuple[str, str]]:
    return [(escaped(name), escaped(value)) for name, value in read.decoded.details]
