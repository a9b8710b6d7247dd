"""What accounts' data says: by this service's decoders, or by an IDL of the account's owner."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import amounts_of
from chain.explained.accounts import by_idl, decode_account
from chain.explained.instructions import Decoded, KnownIdl
from rewind.accounts.services.newest import accounts_after
from rewind.errors import TooManyPrograms
from rewind.explained.results import IdlData
from rewind.explained.services.explaining import used_idl
from rewind.explained.services.idls import MOST_PROGRAMS, idls_at


class ReadAccount(NamedTuple):
    """What the data says, and the IDL that it was read by."""

    decoded: Decoded
    known: KnownIdl | None


def read_account(pubkey: Pubkey, account: Account, slot: int) -> ReadAccount:
    """The account as of the slot. `decoded` is empty if nothing reads it."""
    owner = str(account.owner)

    def load(key: Pubkey) -> Account | None:
        return accounts_after([key], slot).get(key)

    decoded = decode_account(
        str(pubkey),
        owner,
        account.data,
        lambda mint: amounts_of(Pubkey.from_string(mint), load),
    )
    if decoded.by is not None:
        return ReadAccount(decoded, None)
    known = idls_at({account.owner}, slot).get(owner)
    if known is None:
        return ReadAccount(decoded, None)
    return ReadAccount(by_idl(account.data, known.idl), known)


def idl_reader(owners: Collection[Pubkey], slot: int) -> Callable[[Account], IdlData | None]:
    """A function that returns what an IDL of an account's owner says, for the wire; None if there
    is none, or if it does not have accounts of this type. The IDLs of all owners are looked up at
    once. Raises TooManyPrograms.
    """
    if len(owners) > MOST_PROGRAMS:
        raise TooManyPrograms(len(owners), MOST_PROGRAMS)
    known = idls_at(owners, slot)

    def read(account: Account) -> IdlData | None:
        owner = str(account.owner)
        found = known.get(owner)
        decoded = Decoded() if found is None else by_idl(account.data, found.idl)
        if found is None or not decoded.kind:
            return None
        info = None if decoded.info is None else dict(decoded.info)
        return IdlData(type=decoded.kind, info=info, idl=used_idl(owner, found))

    return read
