"""Results: fates of submissions and bundles, and landed tips."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from gateway.node_json import TransactionError
from jsonrpc.wire import As, Result

# How far a submission, or a bundle, has come.
Stage: TypeAlias = Annotated[
    str, As(Literal["received", "sent", "landed", "failed", "expired", "refused"])
]
# Whether the service still sends a submission.
Sending: TypeAlias = Annotated[str, As(Literal["active", "stopped"])]
_Signature: TypeAlias = Annotated[str, As(Signature)]


class PaidTip(Result, frozen=True, kw_only=True):
    """The tip that a submission was accepted with.

    address: where it goes
    lamports: how much it is
    instruction_index: which instruction of the transaction pays it; null if that is not known
    """

    address: Annotated[str, As(Pubkey)]
    lamports: int
    instruction_index: int | None


class FateAttempt(Result, frozen=True, kw_only=True):
    """One attempt to send a submission.

    upstream: the upstream's name
    target: where to: an address, or a leader's identity
    number: the how-manieth time it went this way
    started_at: when, in Unix seconds with their fractions
    latency_microseconds: how long it took
    outcome: `sent`, `refused` or `failed`
    answer: the upstream's answer
    """

    upstream: str
    target: str
    number: int
    started_at: float
    latency_microseconds: int
    outcome: str
    answer: str


class Fate(Result, frozen=True, kw_only=True):
    """What became of one submission. Times are Unix seconds with their fractions.

    signature: the transaction's signature
    state: `received` (accepted), `sent`, `landed`, `failed` (in a block, with an error), `expired`
        (in no block, and it can never be), or `refused` (the same, and no upstream ever took it)
    final: whether it stays so
    commitment: how deep in the chain its block is; null before it landed
    slot: the slot of its block; null before it landed
    transaction_index: its place in the block; null before it landed
    slots_after_acceptance: how many slots after its acceptance it landed
    err: what it failed by; null when it did not
    reason: why it never landed; null unless that is known
    accepted_at: when it was accepted
    accepted_slot: the chain's slot then; null if that was not known
    sent_at: when it first went out; null before that
    queue_milliseconds: how long it waited for that from its acceptance; null before it went out
    seen_at: when it was first seen in a block; null before that
    settled_at: when it became final; null before that
    last_valid_block_height: above this block height it can never land; null if that is not known
    durable_nonce: whether it uses a durable nonce, and has no such end
    nonce_account: the nonce account that it uses; null without one, and before it is stored
    sending: `active` while the service sends it until it lands; `stopped` when it no longer does
        although it can still land, as on a durable nonce; null in a block, and once it is final
    sending_stopped: why it is `stopped`; null otherwise
    will_fail: why it was known to fail when it was accepted: a version 1 transaction that asks for
        no size or no units; null for all others, and before it is stored
    tip: the tip that it was accepted with; null if another transaction of its bundle tips
    bundle_id: the bundle in which you sent it; null if it came alone
    edge: the service's name of itself
    tier: the tier that it was sent for
    only_upstreams: the only upstreams to send it to; empty means all
    max_retries: how often to send it again; null means until it lands or never can
    tries: how many attempts there were
    attempts: each of them, the oldest first; absent if many fates are asked for
    """

    signature: _Signature
    state: Stage
    final: bool
    commitment: str | None = None
    slot: int | None = None
    transaction_index: int | None = None
    slots_after_acceptance: int | None = None
    err: TransactionError = None
    reason: str | None = None
    accepted_at: float
    accepted_slot: int | None = None
    sent_at: float | None = None
    queue_milliseconds: int | None = None
    seen_at: float | None = None
    settled_at: float | None = None
    last_valid_block_height: int | None = None
    durable_nonce: bool = False
    nonce_account: Annotated[str, As(Pubkey)] | None = None
    sending: Sending | None = None
    sending_stopped: str | None = None
    will_fail: str | None = None
    tip: PaidTip | None = None
    bundle_id: str | None = None
    edge: str | None = None
    tier: str | None = None
    only_upstreams: list[str] = []
    max_retries: int | None = None
    tries: int = 0
    attempts: list[FateAttempt] | msgspec.UnsetType = msgspec.UNSET


class BundleFate(Result, frozen=True, kw_only=True):
    """What became of a bundle. Times are Unix seconds with their fractions.

    bundle_id: its id: SHA-256 of its signatures, in hex
    state: as a transaction's: `received`, `sent`, `landed`, `failed`, `expired`, `refused`
    final: whether it stays so
    reason: why it never landed; null unless that is known
    slot: the slot of its block; null before it landed
    engine_ids: the ids that block engines gave it, by their names as upstreams
    accepted_at: when it was accepted
    settled_at: when it became final; null before that
    transactions: the fates of its transactions, in their order
    """

    bundle_id: str
    state: Stage
    final: bool
    reason: str | None = None
    slot: int | None = None
    engine_ids: dict[str, str]
    accepted_at: float
    settled_at: float | None = None
    transactions: list[Fate]


class FateEvent(Result, frozen=True, kw_only=True):
    """A change of a submission's fate, as an event of the stream.

    signature: the transaction's signature
    state: how far it has come
    final: whether it stays so
    commitment: how deep in the chain its block is; null before it landed
    slot: the slot of its block; null before it landed
    transaction_index: its place in the block; null before it landed
    err: what it failed by; null when it did not
    reason: why it never landed; null unless that is known
    bundle_id: the bundle in which you sent it; null if it came alone
    queue_milliseconds: how long it waited to be sent; null before it went out
    sending: `active` while the service sends it until it lands; `stopped` when it no longer does
        although it can still land, as on a durable nonce; null in a block, and once it is final
    sending_stopped: why it is `stopped`; null otherwise
    at: when it changed, in Unix seconds with their fractions
    """

    signature: _Signature
    state: Stage
    final: bool
    commitment: str | None
    slot: int | None
    transaction_index: int | None
    err: TransactionError
    reason: str | None
    bundle_id: str | None
    queue_milliseconds: int | None
    sending: Sending | None
    sending_stopped: str | None
    at: float


class SlotContext(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    slot: the newest slot
    """

    slot: int


class LandedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that landed, in the block engine's own names.

    bundle_id: its id
    transactions: the signatures, in their order
    slot: the slot of its block
    confirmation_status: how deep in the chain that is: `processed`, `confirmed`, `finalized`
    err: always `{"Ok": null}`: a bundle with a failure does not land
    """

    bundle_id: str
    transactions: Annotated[list[str], As(list[Signature])]
    slot: int
    confirmation_status: str
    err: dict[str, None]


class InflightBundle(msgspec.Struct, frozen=True, kw_only=True):
    """How far a bundle has come, in the block engine's own names and states.

    bundle_id: its id
    status: `Pending`, `Landed`, `Failed`, or `Invalid` for one that you did not submit
    landed_slot: the slot of its block; null unless it landed
    """

    bundle_id: str
    status: Annotated[str, As(Literal["Pending", "Landed", "Failed", "Invalid"])]
    landed_slot: int | None


class LandedBundles(Result, frozen=True, kw_only=True):
    """Where bundles landed.

    context: what the answer is based on
    value: each bundle in the order of the request; null for one that has not landed, or is not
        yours
    """

    context: SlotContext
    value: list[LandedBundle | None]


class InflightBundles(Result, frozen=True, kw_only=True):
    """How far bundles have come.

    context: what the answer is based on
    value: each bundle in the order of the request
    """

    context: SlotContext
    value: list[InflightBundle]
