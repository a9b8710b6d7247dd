"""The accounts of a new chain: the engine's programs, builtins and sysvars."""

from functools import lru_cache

from solders.account import Account
from solders.pubkey import Pubkey
from solders.solders import LiteSVM

from chain.addresses import (
    FEATURE,
    LOADER_1,
    LOADER_2,
    LOADER_3,
    NATIVE_LOADER,
    SYSVAR_OWNER,
)
from chain.units import U64_MAX

_PROGRAMDATA = (3).to_bytes(4, "little")


def programs() -> dict[Pubkey, Account]:
    """SPL Token, Token-2022, Memo, Associated Token, Address Lookup Table and Stake, with their
    code; deployed in slot 0, immutable.
    """
    found = {}
    for loader in (LOADER_1, LOADER_2, LOADER_3):
        for key, account in _full().get_program_accounts(loader):
            data = account.data
            if loader == LOADER_3 and data[:4] == _PROGRAMDATA:
                data = data[:4] + bytes(8) + data[12:]
            found[key] = _lasting(account, data)
    return found


def builtins() -> dict[Pubkey, Account]:
    """The programs of native code, and the precompiles."""
    return {
        key: Account(account.lamports, account.data, account.owner, account.executable, U64_MAX)
        for key, account in _full().get_program_accounts(NATIVE_LOADER)
    }


def sysvars() -> dict[Pubkey, Account]:
    """Every sysvar account at its default; a chain writes its own over them."""
    return {
        key: _lasting(account, account.data)
        for key, account in _full().get_program_accounts(SYSVAR_OWNER)
    }


def feature_accounts() -> dict[Pubkey, Account]:
    """The account of each of mainnet's features, active since slot 0."""
    active_since_0 = b"\x01" + bytes(8)
    return {
        key: _lasting(account, active_since_0)
        for key, account in _full().get_program_accounts(FEATURE)
    }


def genesis_accounts() -> dict[Pubkey, Account]:
    """All of these."""
    return {**builtins(), **programs(), **sysvars(), **feature_accounts()}


def rent_minimum(size: int) -> int:
    """The minimum balance of an account with this many bytes of data."""
    return _full().minimum_balance_for_rent_exemption(size)


def _lasting(account: Account, data: bytes) -> Account:
    lamports = max(account.lamports, rent_minimum(len(data)))
    return Account(lamports, data, account.owner, account.executable, U64_MAX)


@lru_cache(maxsize=1)
def _full() -> LiteSVM:
    return LiteSVM()
