"""Token balances before and after a transaction, as the node writes them."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey

from chain.parsed.amounts import ui_amount
from simulator.addresses import TOKEN, TOKEN_2022, WRAPPED_SOL

TOKEN_PROGRAMS = frozenset({TOKEN, TOKEN_2022})
_ACCOUNT_SIZE, _MINT_SIZE, _MULTISIG_SIZE = 165, 82, 355
_STATE_AT, _DECIMALS_AT, _INITIALIZED_AT = 108, 44, 45
# Token-2022 marks what an account is behind the longest plain one.
_MARK_AT, _MINT_MARK, _ACCOUNT_MARK = 165, 1, 2
_WRAPPED_SOL_DECIMALS = 9
_NOT_READ = -1


class Holding(NamedTuple):
    """A token account: the mint's and the owner's keys, and the raw amount."""

    mint: Pubkey
    owner: Pubkey
    amount: int


def token_balances(
    keys: Iterable[Pubkey],
    accounts: Iterable[Account | None],
    called: set[int],
    load: Callable[[Pubkey], Account | None],
) -> list[dict[str, Any]]:
    """A balance for every token account among them, in their order. `called` are the indexes of
    the programs of top-level instructions; `load` is asked for mints.
    """
    balances = []
    decimals: dict[Pubkey, int | None] = {}
    for index, (key, account) in enumerate(zip(keys, accounts, strict=True)):
        if account is None or index in called:
            continue
        program = account.owner
        if program not in TOKEN_PROGRAMS or key in TOKEN_PROGRAMS:
            continue
        holding = read_holding(account)
        if holding is None:
            continue
        mint = holding.mint
        places = decimals.get(mint, _NOT_READ)
        if places == _NOT_READ:
            places = decimals[mint] = _decimals(mint, program, load)
        if places is None:
            continue
        amount = ui_amount(holding.amount, places)
        # Zero and none are one in the form that the node stores.
        amount["uiAmount"] = amount["uiAmount"] or None
        balances.append(
            {
                "accountIndex": index,
                "mint": str(mint),
                "uiTokenAmount": amount,
                "owner": str(holding.owner),
                "programId": str(program),
            }
        )
    return balances


def read_holding(account: Account) -> Holding | None:
    """What a token account of either program holds; None for any other account."""
    data = account.data
    if not _is(data, account.owner, _ACCOUNT_SIZE, _ACCOUNT_MARK) or not data[_STATE_AT]:
        return None
    mint, owner = Pubkey.from_bytes(data[:32]), Pubkey.from_bytes(data[32:64])
    return Holding(mint, owner, int.from_bytes(data[64:72], "little"))


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
