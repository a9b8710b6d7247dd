"""The node's checks of a transaction before it runs in the VM."""

from collections.abc import Callable

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import SanitizeError

from chain.addresses import (
    INSTRUCTIONS,
    LOADER_1,
    LOADER_2,
    LOADER_3,
    NATIVE_LOADER,
    SYSTEM,
)
from chain.nonces import NONCE_SIZE
from chain.transaction_limits import limits_of
from simulator.budget import Budget
from simulator.errors import Refused
from simulator.features import Rules
from simulator.moment import Moment
from simulator.nonces import Nonce, is_nonce, nonce_of
from simulator.parts import Parts
from simulator.programs import code_key

_TABLE_SIZE = 8248
_ACCOUNT_SIZE = 64
_LOADERS = frozenset({NATIVE_LOADER, LOADER_1, LOADER_2, LOADER_3})


class LoadFailed(Exception):
    """The transaction pays its fee but does not run, because of `err`; `size` are the bytes that it
    loaded, up to its limit.
    """

    def __init__(self, err: str, size: int) -> None:
        super().__init__(err)
        self.err = err
        self.size = size


def check_form(parts: Parts, rules: Rules) -> None:
    """Refused if too large, malformed, or with too many instructions."""
    transaction = parts.transaction
    limits = limits_of(parts.version)
    if len(bytes(transaction)) > limits.size:
        raise Refused("SanitizeFailure")
    if len(parts.instructions) > limits.instructions and rules.fewer_instructions:
        raise Refused("SanitizeFailure")
    try:
        transaction.sanitize()
    except SanitizeError:
        raise Refused("SanitizeFailure") from None


def check_signatures(parts: Parts) -> None:
    """Refused unless every signature of the message is valid."""
    if not all(parts.transaction.verify_with_results()):
        raise Refused("SignatureFailure")


def check_locks(parts: Parts, most: int) -> None:
    """Refused if the transaction locks too many accounts, or one of them twice."""
    if len(parts.keys) > most:
        raise Refused("TooManyAccountLocks")
    if len(set(parts.keys)) != len(parts.keys):
        raise Refused("AccountLoadedTwice")


def check_age(
    parts: Parts, accounts: list[Account | None], moment: Moment, rules: Rules
) -> Nonce | None:
    """The nonce that the transaction uses, if any; Refused if its blockhash is neither recent nor a
    nonce's.
    """
    blockhashes = moment.blockhashes
    if blockhashes is not None and parts.blockhash in blockhashes:
        return None
    nonce = nonce_of(parts, accounts, moment.previous_blockhash, static=rules.static_nonces)
    if nonce is None and blockhashes is not None:
        raise Refused("BlockhashNotFound")
    return nonce


def check_payer(account: Account | None, fee: int, rent_minimum: Callable[[int], int]) -> None:
    """Refused unless the account can pay the fee and keep its minimum balance."""
    if account is None:
        raise Refused("AccountNotFound")
    size = 0
    if account.owner != SYSTEM:
        raise Refused("InvalidAccountForFee")
    if account.data:
        if not is_nonce(account):
            raise Refused("InvalidAccountForFee")
        size = NONCE_SIZE
    lamports = account.lamports
    left = lamports - fee
    if left < (rent_minimum(size) if size else 0):
        raise Refused("InsufficientFundsForFee")
    # An account above the rent minimum may not fall below it; one below it may fall further.
    minimum = rent_minimum(size)
    if 0 < left < minimum <= lamports:
        raise Refused({"InsufficientFundsForRent": {"account_index": 0}})


def check_loaded(
    parts: Parts,
    accounts: list[Account | None],
    budget: Budget,
    load: Callable[[Pubkey], Account | None],
    code_size: Callable[[Account], int],
) -> int:
    """The bytes that the transaction loads; LoadFailed if they are too many, or if an invoked
    program is absent or not a program.
    """
    size = _TABLE_SIZE * len(parts.lookups)
    keys = parts.keys
    counted: set[Pubkey] = set()
    for key, account in zip(keys, accounts, strict=True):
        if account is None or key == INSTRUCTIONS:
            continue
        size += _ACCOUNT_SIZE + len(account.data)
        at = code_key(account) if account.owner == LOADER_3 else None
        if at is not None and at not in counted and at not in keys:
            counted.add(at)
            code = load(at)
            if code is not None:
                size += _ACCOUNT_SIZE + code_size(code)
    if size > budget.loaded_bytes:
        raise LoadFailed("MaxLoadedAccountsDataSizeExceeded", budget.loaded_bytes)
    if INSTRUCTIONS in keys and not _fits_sysvar(parts):
        raise LoadFailed("MaxLoadedAccountsDataSizeExceeded", size)
    for instruction in parts.instructions:
        program = accounts[instruction.program_index]
        if program is None:
            raise LoadFailed("ProgramAccountNotFound", size)
        if program.owner not in _LOADERS:
            raise LoadFailed("InvalidProgramForExecution", size)
    return size


def _fits_sysvar(parts: Parts) -> bool:
    """Whether the instructions fit the sysvar that programs read them from: each begins at a place
    of two bytes. Only version 1 is large enough for more (`construct_instructions_data` of
    solana-instructions-sysvar 5.0.0).
    """
    at = start = 2 + 2 * len(parts.instructions)
    for _, accounts, data in parts.instructions:
        start = at
        at += 2 + 33 * len(accounts) + 32 + 2 + len(data)
    return start <= 0xFFFF
