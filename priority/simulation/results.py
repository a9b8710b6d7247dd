"""Results of simulateBundle."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey
from solders.signature import Signature

from gateway.node_json import (
    EncodedBytes,
    LoadedAddresses,
    ParsedData,
    ReturnData,
    TokenBalance,
    TransactionError,
)
from jsonrpc.wire import As, Result
from rewind.accounts.results.completeness import Completeness
from rewind.replay.results.missing_rules import MissingRuleEntry

_Signature: TypeAlias = Annotated[str, As(Signature)]


class FlatAccount(Result, frozen=True, kw_only=True):
    """An account as simulateBundle shows it.

    lamports: its balance
    owner: the program that it belongs to
    data: its data as text in the requested encoding; an object if it was parsed
    executable: whether it is a program
    rent_epoch: the epoch in which it owes rent; 18446744073709551615 means never
    data_omitted: how many bytes of data it has, where `data` is empty because the account was not
        asked for and the answer has no room for it; else absent
    """

    lamports: int
    owner: Pubkey
    data: str | ParsedData
    executable: bool
    rent_epoch: int
    data_omitted: int | UnsetType = UNSET


class ShownAccount(FlatAccount, frozen=True, kw_only=True):
    """An account as a block engine shows it; one that is not there has no lamports.

    data: a pair of text and encoding; an object if it was parsed
    space: the length of its data in bytes
    """

    data: EncodedBytes | ParsedData  # type: ignore[assignment]
    space: int


class FlatReturnData(Result, frozen=True, kw_only=True):
    """What a program returned last.

    program_id: the program
    data: the bytes in base64
    """

    program_id: Pubkey
    data: str


class ReplacementBlockhash(Result, frozen=True, kw_only=True):
    """The blockhash that stood for the transaction's own.

    blockhash: the blockhash
    last_valid_block_height: up to which block height it is good
    """

    blockhash: str
    last_valid_block_height: int


class BundleContext(Result, frozen=True, kw_only=True):
    """What the bundle ran on.

    api_version: the version of the node that its state came from, or of the archive's interface
    slot: the slot of that state
    completeness: in the past: whether the whole history would give the same answer; absent for
        the newest state of a node
    missing_rules: rules of the chain that the engine does not support; absent without any
    """

    api_version: str
    slot: int
    completeness: Completeness | UnsetType = UNSET
    missing_rules: list[MissingRuleEntry] | UnsetType = UNSET


class SimulatedBundle(Result, frozen=True, kw_only=True):
    """A bundle as one.

    context: what it ran on
    err: what the first failing transaction failed by; null when all succeeded
    logs: the programs' logs, in the order of the transactions
    pre_execution_accounts: accounts before each transaction, in their order; null for one that was
        not there. By default those that the transactions may write
    post_execution_accounts: accounts after each transaction, likewise
    units_consumed: compute units of all transactions together
    return_data: what a program returned last; null without such data
    """

    context: BundleContext
    err: TransactionError
    logs: list[str]
    pre_execution_accounts: Annotated[list[dict[str, Any] | None], As(list[FlatAccount | None])]
    post_execution_accounts: Annotated[list[dict[str, Any] | None], As(list[FlatAccount | None])]
    units_consumed: int
    return_data: Annotated[dict[str, Any] | None, As(FlatReturnData | None)]


class BundleTransaction(Result, frozen=True, kw_only=True):
    """One transaction of a bundle, as the block engine's client reads it. Balances are in the
    order of its accounts: the message's own, then the looked-up writable, then the read-only ones.

    err: what it failed by; null when it succeeded
    logs: the programs' log
    pre_execution_accounts: the accounts asked for, before it
    post_execution_accounts: the accounts asked for, after it
    units_consumed: compute units that it took
    return_data: what a program returned last; null without such data
    loaded_accounts_data_size: bytes of the accounts that it loads
    replacement_blockhash: the blockhash that replaced its own; null if its own was used
    fee: what it would cost in lamports; null if no block would include it
    pre_balances: lamports of each account before it
    post_balances: lamports of each account after it
    pre_token_balances: token accounts before it
    post_token_balances: token accounts after it
    loaded_addresses: accounts from lookup tables
    """

    err: TransactionError
    logs: list[str]
    pre_execution_accounts: Annotated[list[dict[str, Any]], As(list[ShownAccount])]
    post_execution_accounts: Annotated[list[dict[str, Any]], As(list[ShownAccount])]
    units_consumed: int
    return_data: Annotated[dict[str, Any] | None, As(ReturnData | None)]
    loaded_accounts_data_size: int
    replacement_blockhash: Annotated[dict[str, Any] | None, As(ReplacementBlockhash | None)]
    fee: int | None
    pre_balances: list[int]
    post_balances: list[int]
    pre_token_balances: Annotated[list[dict[str, Any]], As(list[TokenBalance])]
    post_token_balances: Annotated[list[dict[str, Any]], As(list[TokenBalance])]
    loaded_addresses: Annotated[dict[str, list[str]], As(LoadedAddresses)]


class BundleFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The first failure of a bundle, by names that different clients read.

    error: `TransactionFailure` with the signature and the error as text
    tx_signature: the transaction that failed
    txSignature: the same once more
    """

    error: dict[str, Any]
    tx_signature: _Signature
    txSignature: _Signature


class FailedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The `summary` of a failed simulation.

    failed: the first failure
    """

    failed: BundleFailure


class BundleValue(Result, frozen=True, kw_only=True):
    """The result of the bundle.

    summary: `succeeded`, or an object with the first failure
    transaction_results: the transactions that ran, up to the first failure
    """

    summary: Annotated[Any, As(Literal["succeeded"] | FailedBundle)]
    transaction_results: list[BundleTransaction]


class SimulatedTransactions(Result, frozen=True, kw_only=True):
    """A bundle in its parts.

    context: what it ran on
    value: the result
    """

    context: BundleContext
    value: BundleValue
