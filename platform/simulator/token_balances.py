"""Token balances before and after a transaction, in the node's form."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import TOKEN, TOKEN_2022, WRAPPED_SOL
from chain.parsed.amounts import ui_amount

TOKEN_PROGRAMS = {TOKEN: str(TOKEN), TOKEN_2022: str(TOKEN_2022)}
_ACCOUNT_SIZE, _MINT_SIZE, _MULTISIG_SIZE = 165, 82, 355
_STATE_AT, _DECIMALS_AT, _INITIALIZED_AT = 108, 44, 45
# Token-2022 stores the account type after the length of a plain account.
_MARK_AT, _MINT_MARK, _ACCOUNT_MARK = 165, 1, 2
_WRAPPED_SOL_DECIMALS = 9
_NOT_READ = -1


def token_balances(
    keys: Iterable[Pubkey],
    accounts: Iterable[Account | None],
    called: set[int],
    load: Callable[[Pubkey], Account | None],
) -> list[dict[str, Any]]:
    """A balance for every token account among the accounts, in order. `called` are the indexes of
    the programs of top-level instructions; `load` is called for mints.
    """
    balances = []
    decimals: dict[Pubkey, int | None] = {}
    for index, (key, account) in enumerate(zip(keys, accounts, strict=True)):
        if account is None:
            continue
        program = account.owner
        program_text = TOKEN_PROGRAMS.get(program)
        if program_text is None or index in called or key in TOKEN_PROGRAMS:
            continue
        data = account.data
        if not _is_holding(data, program):
            continue
        mint, mint_text, owner_text = _keys(data[:64])
        places = decimals.get(mint, _NOT_READ)
        if places == _NOT_READ:
            places = decimals[mint] = _decimals(mint, program, load)
        if places is None:
            continue
        amount = ui_amount(int.from_bytes(data[64:72], "little"), places)
        # The node stores no difference between zero and null.
        amount["uiAmount"] = amount["uiAmount"] or None
        balances.append(
            {
                "accountIndex": index,
                "mint": mint_text,
                "uiTokenAmount": amount,
                "owner": owner_text,
                "programId": program_text,
            }
        )
    return balances


def held_mint(account: Account) -> Pubkey | None:
    """The mint of a token account of either program; None for any other account."""
    owner = account.owner
    if owner not in TOKEN_PROGRAMS:
        return None
    data = account.data  # a copy
    if not _is_holding(data, owner):
        return None
    return Pubkey.from_bytes(data[:32])


def _is_holding(data: bytes, program: Pubkey) -> bool:
    return _is(data, program, _ACCOUNT_SIZE, _ACCOUNT_MARK) and data[_STATE_AT] != 0


# The same accounts recur before, after and in the next transaction.
@lru_cache(maxsize=4_096)
def _keys(data: bytes) -> tuple[Pubkey, str, str]:
    mint = Pubkey.from_bytes(data[:32])
    return mint, str(mint), str(Pubkey.from_bytes(data[32:]))


def _decimals(
    mint: Pubkey, program: Pubkey, load: Callable[[Pubkey], Account | None]
) -> int | None:
    if mint == WRAPPED_SOL:
        return _WRAPPED_SOL_DECIMALS
    account = load(mint)
    if account is None or account.owner != program:
        return None
    data = account.data
    if not _is(data, program, _MINT_SIZE, _MINT_MARK) or data[_INITIALIZED_AT] != 1:
        return None
    return data[_DECIMALS_AT]


def _is(data: bytes, program: Pubkey, size: int, mark: int) -> bool:
    if len(data) == size:
        return True
    if program != TOKEN_2022 or len(data) in (_MULTISIG_SIZE, _ACCOUNT_SIZE):
        return False
    return len(data) > _MARK_AT and data[_MARK_AT] == mark
