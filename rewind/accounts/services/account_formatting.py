"""Formats accounts for results: the encoding of the data, and the requested slice of it."""

from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, Loader, account_json
from chain.account_json import DataTooLong as NotInBase58
from rewind.accounts.results.accounts import AccountSnapshot
from rewind.accounts.store.states import State
from rewind.errors import DataTooLong, SliceOfParsed

# One more than the standard node writes.
LONGEST_BASE58 = 129


@dataclass(frozen=True, slots=True)
class Shape:
    """`part` is offset and length of the data; None is the whole."""

    encoding: AccountEncoding = AccountEncoding.BASE64
    part: tuple[int, int] | None = None


def shape_of(encoding: str | None, part: tuple[int, int] | None) -> Shape:
    """base64 by default; raises SliceOfParsed."""
    chosen = AccountEncoding(encoding or "base64")
    if chosen is AccountEncoding.JSON_PARSED and part is not None:
        raise SliceOfParsed
    return Shape(chosen, part)


def account_of(state: State) -> Account:
    return Account(
        state.lamports, state.data, Pubkey(state.owner), state.executable, state.rent_epoch
    )


def snapshot(
    pubkey: Pubkey, account: Account, slot: int, shape: Shape, load: Loader
) -> AccountSnapshot:
    """The account of that slot; `load` finds the others that its text needs. DataTooLong."""
    fields = _json(account, shape, load, pubkey)
    return AccountSnapshot(
        lamports=fields["lamports"],
        owner=fields["owner"],
        data=fields["data"],
        executable=fields["executable"],
        rent_epoch=fields["rentEpoch"],
        space=fields["space"],
        rewind_slot=slot,
    )


def written_data(data: bytes, shape: Shape) -> tuple[str, str]:
    """`[text, encoding]`, of any encoding but jsonParsed; raises DataTooLong."""
    account = Account(0, data, Pubkey.default())
    text, encoding = _json(account, shape, lambda key: None, None)["data"]
    return text, encoding


def _json(account: Account, shape: Shape, load: Loader, pubkey: Pubkey | None) -> dict[str, Any]:
    try:
        return account_json(
            account,
            shape.encoding,
            load=load,
            pubkey=pubkey,
            part=shape.part,
            longest_base58=LONGEST_BASE58,
        )
    except NotInBase58:
        offset, length = shape.part or (0, len(account.data))
        found = min(length, max(len(account.data) - offset, 0))
        raise DataTooLong(found, LONGEST_BASE58) from None
