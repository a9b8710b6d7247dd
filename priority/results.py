"""Results, field for field what the interface lists."""

from typing import Any

from jsonrpc.wire import Result


class BundleContext(Result, frozen=True, kw_only=True):
    """What the bundle ran on."""

    api_version: str
    slot: int


class SimulatedBundle(Result, frozen=True, kw_only=True):
    """A bundle as one: `err` is the first failure, units are those of all transactions together,
    accounts and logs stand in the order of the transactions, `return_data` is the last there was.
    """

    context: BundleContext
    err: Any
    logs: list[str]
    pre_execution_accounts: list[dict[str, Any] | None]
    post_execution_accounts: list[dict[str, Any] | None]
    units_consumed: int
    return_data: dict[str, Any] | None


class BundleTransaction(Result, frozen=True, kw_only=True):
    """One transaction of a bundle, as the block engine's client reads it."""

    err: Any
    logs: list[str]
    pre_execution_accounts: list[dict[str, Any]]
    post_execution_accounts: list[dict[str, Any]]
    units_consumed: int
    return_data: dict[str, Any] | None
    loaded_accounts_data_size: int
    replacement_blockhash: dict[str, Any] | None
    fee: int | None
    pre_balances: list[int]
    post_balances: list[int]
    pre_token_balances: list[dict[str, Any]]
    post_token_balances: list[dict[str, Any]]
    loaded_addresses: dict[str, list[str]]


class BundleValue(Result, frozen=True, kw_only=True):
    """`summary` is "succeeded" or {failed: {error, tx_signature}}; the transactions are those that
    ran, up to the first failure.
    """

    summary: Any
    transaction_results: list[BundleTransaction]


class SimulatedTransactions(Result, frozen=True, kw_only=True):
    """A bundle in its parts."""

    context: BundleContext
    value: BundleValue
