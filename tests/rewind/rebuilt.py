"""The accounts that a real transaction met, as far as its metadata tell them."""

from functools import cache
from typing import Any

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.encodings import b58decode
from chain.units import U64_MAX
from simulator import defaults
from tests.simulator.test_lookups import table_data

TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
WRAPPED = Pubkey.from_string("So11111111111111111111111111111111111111112")
_TOKEN_RENT = 2_039_280
_SUPPLY = 10**15
_SOMEBODY = Pubkey(bytes([7]) * 32)
# Instructions of the token programs, and which of their accounts says who may.
_MOVING = {3: 2, 12: 3, 8: 2, 15: 2}  # Transfer, TransferChecked, Burn, BurnChecked
_CLOSING = {9: 2}
_MINTING = {7: 2, 14: 2}
_ADVANCE = (4).to_bytes(4, "little")  # of the System program: AdvanceNonceAccount


def keys_of(transaction: VersionedTransaction, meta: dict[str, Any]) -> list[Pubkey]:
    """The message's keys, then those that its tables gave."""
    loaded = meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    looked_up = [*loaded["writable"], *loaded["readonly"]]
    return [*transaction.message.account_keys, *map(Pubkey.from_string, looked_up)]


def accounts_before(
    transaction: VersionedTransaction,
    meta: dict[str, Any],
    programs: dict[Pubkey, Account],
    *,
    has_mint_authority: bool = False,
    has_freeze_authority: bool = False,
) -> dict[Pubkey, Account]:
    """What the transaction loads: wallets, token accounts and mints by their balances, its lookup
    tables by what they gave, those of the programs that it names, and sysvars and builtins with
    their lamports. What mints are told to have costs units where they are read.
    """
    keys = keys_of(transaction, meta)
    accounts: dict[Pubkey, Account] = {}
    for key, lamports in zip(keys, meta["preBalances"], strict=True):
        if not lamports:
            continue
        known = programs.get(key) or _own().get(key)
        accounts[key] = (
            Account(lamports, b"", addresses.SYSTEM, False, U64_MAX)
            if known is None
            else Account(lamports, known.data, known.owner, known.executable, U64_MAX)
        )
    calls = list(_token_calls(transaction, meta, keys))
    for held in meta.get("preTokenBalances") or ():
        key, program = keys[held["accountIndex"]], Pubkey.from_string(held["programId"])
        data = _token_account(
            held,
            _authority_of(key, held, calls, _MOVING),
            _authority_of(key, held, calls, _CLOSING),
        )
        accounts[key] = Account(accounts[key].lamports, data, program, False, U64_MAX)
    every = [*(meta.get("preTokenBalances") or ()), *(meta.get("postTokenBalances") or ())]
    for held in every:
        mint, program = Pubkey.from_string(held["mint"]), Pubkey.from_string(held["programId"])
        lamports = accounts[mint].lamports if mint in accounts else 10**9
        minter = _minter(mint, calls) or (_SOMEBODY if has_mint_authority else None)
        freezer = _SOMEBODY if has_freeze_authority else None
        data = _mint(held["uiTokenAmount"]["decimals"], minter, freezer)
        accounts[mint] = Account(lamports, data, program, False, U64_MAX)
    nonce = _nonce(transaction, keys)
    if nonce is not None:
        key, data = nonce
        accounts[key] = Account(accounts[key].lamports, data, addresses.SYSTEM, False, U64_MAX)
    for table, data in _tables(transaction, meta):
        accounts[table] = Account(10**9, data, addresses.LOOKUP_TABLE, False, U64_MAX)
    return accounts


def _token_calls(
    transaction: VersionedTransaction, meta: dict[str, Any], keys: list[Pubkey]
) -> Any:
    """(instruction's number, its accounts) of every call of a token program."""
    for each in transaction.message.instructions:
        if keys[each.program_id_index] in (TOKEN, TOKEN_2022) and each.data:
            yield each.data[0], [keys[index] for index in each.accounts]
    for group in meta.get("innerInstructions") or ():
        for inner in group["instructions"]:
            data = b58decode(inner["data"])
            if keys[inner["programIdIndex"]] in (TOKEN, TOKEN_2022) and data:
                yield data[0], [keys[index] for index in inner["accounts"]]


def _authority_of(
    key: Pubkey, held: dict[str, Any], calls: list[Any], places: dict[int, int]
) -> Pubkey | None:
    """Who did it to the account without being its owner."""
    for number, accounts in calls:
        place = places.get(number)
        if place is None or len(accounts) <= place or accounts[0] != key:
            continue
        if str(accounts[place]) != held.get("owner"):
            other: Pubkey = accounts[place]
            return other
    return None


def _minter(mint: Pubkey, calls: list[Any]) -> Pubkey | None:
    for number, accounts in calls:
        if number in _MINTING and accounts[0] == mint:
            authority: Pubkey = accounts[_MINTING[number]]
            return authority
    return None


def _token_account(held: dict[str, Any], delegate: Pubkey | None, closer: Pubkey | None) -> bytes:
    mint = Pubkey.from_string(held["mint"])
    amount = int(held["uiTokenAmount"]["amount"])
    native = b"\x01\0\0\0" + _TOKEN_RENT.to_bytes(8, "little") if mint == WRAPPED else bytes(12)
    return b"".join(
        (
            bytes(mint),
            bytes(Pubkey.from_string(held["owner"])),
            amount.to_bytes(8, "little"),
            _optional(delegate),
            b"\x01",  # initialized
            native,
            (U64_MAX if delegate else 0).to_bytes(8, "little"),
            _optional(closer),
        )
    )


def _mint(decimals: int, minter: Pubkey | None, freezer: Pubkey | None) -> bytes:
    supply = _SUPPLY.to_bytes(8, "little")
    return _optional(minter) + supply + bytes((decimals, 1)) + _optional(freezer)


def _optional(key: Pubkey | None) -> bytes:
    return bytes(36) if key is None else b"\x01\0\0\0" + bytes(key)


def _nonce(transaction: VersionedTransaction, keys: list[Pubkey]) -> tuple[Pubkey, bytes] | None:
    """The nonce account that the transaction stands on, as it was."""
    first = transaction.message.instructions[0]
    if keys[first.program_id_index] != addresses.SYSTEM or first.data[:4] != _ADVANCE:
        return None
    account, authority = keys[first.accounts[0]], keys[first.accounts[2]]
    durable = bytes(transaction.message.recent_blockhash)
    fee = (5_000).to_bytes(8, "little")
    return account, b"\x01\0\0\0\x01\0\0\0" + bytes(authority) + durable + fee


@cache
def _own() -> dict[Pubkey, Account]:
    return {**defaults.builtins(), **defaults.sysvars()}


def _tables(transaction: VersionedTransaction, meta: dict[str, Any]) -> Any:
    message = transaction.message
    if not isinstance(message, MessageV0):
        return
    loaded = meta["loadedAddresses"]
    found = {kind: [Pubkey.from_string(key) for key in loaded[kind]] for kind in loaded}
    for lookup in message.address_table_lookups:
        listed = [Pubkey.default()] * 256
        for indexes, kind in (
            (lookup.writable_indexes, "writable"),
            (lookup.readonly_indexes, "readonly"),
        ):
            for place in indexes:
                listed[place] = found[kind].pop(0)
        yield lookup.account_key, table_data(listed)
