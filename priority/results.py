"""Results, field for field what the interface lists."""

from typing import Any

import msgspec

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


class PaidTip(Result, frozen=True, kw_only=True):
    """The tip that a submission was accepted with."""

    address: str
    lamports: int
    instruction_index: int | None


class Try(Result, frozen=True, kw_only=True):
    """One attempt to bring a submission out."""

    upstream: str
    target: str
    number: int
    started_at: float
    latency_microseconds: int
    outcome: str
    answer: str


class Fate(Result, frozen=True, kw_only=True):
    """What became of one submission; `attempts` is absent where only the short form was asked for.
    Times are Unix seconds with their fractions.
    """

    signature: str
    state: str
    final: bool
    commitment: str | None = None
    slot: int | None = None
    transaction_index: int | None = None
    slots_after_acceptance: int | None = None
    err: Any = None
    reason: str | None = None
    accepted_at: float
    accepted_slot: int | None = None
    sent_at: float | None = None
    seen_at: float | None = None
    settled_at: float | None = None
    last_valid_block_height: int | None = None
    durable_nonce: bool = False
    tip: PaidTip | None = None
    bundle_id: str | None = None
    edge: str | None = None
    tier: str | None = None
    only_upstreams: list[str] = []
    max_retries: int | None = None
    tries: int = 0
    attempts: list[Try] | msgspec.UnsetType = msgspec.UNSET


class BundleFate(Result, frozen=True, kw_only=True):
    """What became of a bundle, and of its transactions in their order. `engine_ids` is {upstream:
    the id that the engine gave it}.
    """

    bundle_id: str
    state: str
    final: bool
    reason: str | None = None
    slot: int | None = None
    engine_ids: dict[str, str]
    accepted_at: float
    settled_at: float | None = None
    transactions: list[Fate]


class FateEvent(Result, frozen=True, kw_only=True):
    """A change of a submission's fate, as the stream tells it."""

    signature: str
    state: str
    final: bool
    commitment: str | None
    slot: int | None
    transaction_index: int | None
    err: Any
    reason: str | None
    bundle_id: str | None
    at: float


class SlotContext(Result, frozen=True, kw_only=True):
    slot: int


class LandedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that landed, in the block engine's own names."""

    bundle_id: str
    transactions: list[str]
    slot: int
    confirmation_status: str
    err: dict[str, None]


class InflightBundle(msgspec.Struct, frozen=True, kw_only=True):
    """How far a bundle has come, in the block engine's own names and states."""

    bundle_id: str
    status: str
    landed_slot: int | None


class LandedBundles(Result, frozen=True, kw_only=True):
    context: SlotContext
    value: list[LandedBundle | None]


class InflightBundles(Result, frozen=True, kw_only=True):
    context: SlotContext
    value: list[InflightBundle]


class TipFloor(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles of landed tips, in SOL as clients of like services read them, and in lamports.
    Without a landed tip (`count` 0) the former are 0 and the latter null.
    """

    time: str
    landed_tips_25th_percentile: float
    landed_tips_50th_percentile: float
    landed_tips_75th_percentile: float
    landed_tips_95th_percentile: float
    landed_tips_99th_percentile: float
    ema_landed_tips_50th_percentile: float
    window_seconds: int
    count: int
    lamports_25th_percentile: int | None
    lamports_50th_percentile: int | None
    lamports_75th_percentile: int | None
    lamports_95th_percentile: int | None
    lamports_99th_percentile: int | None
    lamports_ema_50th_percentile: int | None
