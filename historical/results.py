"""Results of the ledger's methods, with the standard node's fields."""

from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UnsetType
from solders.hash import Hash
from solders.signature import Signature

from gaps.coverage import GapEntry
from gateway.node_json import (
    Reward,
    TransactionError,
    TransactionForm,
    TransactionMeta,
    TransactionVersion,
)
from jsonrpc.wire import As, Encoded, Result


class Context(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    slot: the newest slot of the ledger
    api_version: the version of the standard node whose words the ledger speaks
    """

    slot: int
    api_version: str


class SignatureStatus(Result, frozen=True, kw_only=True):
    """What became of a transaction.

    slot: its slot
    err: what it failed by; null when it succeeded
    status: the same as `{"Ok": null}` or `{"Err": …}`, for old clients
    confirmations: always null, because everything in the ledger is finalized
    confirmation_status: always `finalized`
    """

    slot: int
    err: Annotated[msgspec.Raw, As(TransactionError)]
    status: Annotated[dict[str, msgspec.Raw], As(dict[str, Any])]
    confirmations: None = None
    confirmation_status: Literal["finalized"] = "finalized"


class SignatureStatuses(Result, frozen=True, kw_only=True):
    """The statuses, and what they are based on.

    context: what the answer is based on
    value: a status for each signature, in their order; null for one that the ledger does not have,
        or whose status the source of its block did not have
    """

    context: Context
    value: list[SignatureStatus | None]


class AddressSignature(Result, frozen=True, kw_only=True):
    """One transaction of an address's list.

    signature: its signature
    slot: its slot
    err: what it failed by; null when it succeeded, and where `outcome` is there
    memo: the text of its memo, with its length before it; null without one
    block_time: when its block was made, in Unix seconds; null if that was not recorded
    confirmation_status: always `finalized`
    transaction_index: its place in the block, from 0
    outcome: `unknown` if the source of its block had no status of it, so that `err` says nothing;
        absent otherwise. No field of the standard node
    """

    signature: Annotated[str, As(Signature)]
    slot: int
    err: Annotated[msgspec.Raw, As(TransactionError)]
    memo: Annotated[msgspec.Raw, As(str | None)]
    block_time: int | None
    transaction_index: int
    outcome: Literal["unknown"] | UnsetType
    confirmation_status: Literal["finalized"] = "finalized"


class TransactionEntry(Result, frozen=True, kw_only=True):
    """A transaction of the ledger.

    slot: its slot
    transaction_index: its place in the block, from 0
    block_time: when its block was made, in Unix seconds; null if that was not recorded
    transaction: the transaction itself, an object, or a pair of text and encoding
    meta: what it did; null without one in the source
    version: its version; absent unless `maxSupportedTransactionVersion` is given, and if
        `meta` is null
    """

    slot: int
    transaction_index: int
    block_time: int | None
    transaction: TransactionForm
    meta: TransactionMeta | None
    version: TransactionVersion | UnsetType


class BlockTransaction(Result, frozen=True, kw_only=True):
    """A transaction of a block.

    transaction: the transaction itself, an object, or a pair of text and encoding
    meta: what it did; null without one in the source
    version: its version; absent unless `maxSupportedTransactionVersion` is given, and if
        `meta` is null
    """

    transaction: TransactionForm
    meta: TransactionMeta | None
    version: TransactionVersion | UnsetType


class Block(Result, frozen=True, kw_only=True):
    """A block.

    blockhash: its hash
    previous_blockhash: the hash of the block before it
    parent_slot: the slot of the block before it
    block_height: how many blocks there are below it; null if that was not recorded
    block_time: when it was made, in Unix seconds; null if that was not recorded
    transactions: with `transactionDetails` `full` or `accounts`, in their order
    signatures: with `transactionDetails` `signatures`, in their order
    rewards: what accounts were given outside transactions; absent if `rewards` is false
    num_reward_partitions: into how many parts the epoch's rewards are split, in its first block
    """

    blockhash: Hash
    previous_blockhash: Hash
    parent_slot: int
    block_height: int | None
    block_time: int | None
    transactions: list[BlockTransaction] | UnsetType
    signatures: list[Signature] | UnsetType
    rewards: list[Reward] | UnsetType
    num_reward_partitions: int | UnsetType


class AddressTransactions(Result, frozen=True, kw_only=True):
    """A page of an address's transactions.

    data: with `transactionDetails` `signatures` one short entry each, with `full` what
        getTransaction answers
    pagination_token: leads to the next page; null on the last one
    """

    data: Annotated[
        list[AddressSignature] | list[Encoded],
        As(list[AddressSignature | TransactionEntry]),
    ]
    pagination_token: str | None


class RemoteHistory(Result, frozen=True, kw_only=True):
    """The blocks that are not stored here and read from an archive when they are asked for. A
    response that they have a part in has the header `X-History-Source`.

    first_slot: the first slot of its first epoch
    last_slot: the last slot below the first stored block; null while none is stored
    source: the kind of archive: `old-faithful`
    network: the network whose blocks it has
    signature_epochs: the epochs in which getTransaction looks for a signature
    """

    first_slot: int
    last_slot: int | None
    source: Literal["old-faithful"]
    network: str
    signature_epochs: list[int]


class StorageBand(Result, frozen=True, kw_only=True):
    """A run of slots that are stored in one way.

    band: `hot`, as it was written, or `sealed`, packed. Reads are the same
    first_slot: the first of them
    last_slot: the last of them
    """

    band: Literal["hot", "sealed"]
    first_slot: int
    last_slot: int

    @classmethod
    def of(cls, first: int, last: int, band: str) -> "StorageBand":
        return cls(band=cast(Literal["hot", "sealed"], band), first_slot=first, last_slot=last)


class Coverage(Result, frozen=True, kw_only=True):
    """What is served.

    first_slot: the lowest stored slot; null while none is stored
    last_slot: the highest stored slot
    missing_slot_count: how many slots of the window, as far as it lies between these, are not
        stored, and are not known to be skipped
    gaps: the runs of missing slots, lowest first; null unless requested
    truncated: whether there are more gaps than may be listed
    storage: how the window's other slots are stored, lowest first; if truncated, up to the last gap
        that may be listed
    remote: the history below it; null without one
    """

    first_slot: int | None
    last_slot: int | None
    missing_slot_count: int
    gaps: list[GapEntry] | None
    truncated: bool
    storage: list[StorageBand]
    remote: RemoteHistory | None


class LedgerCoverage(Result, frozen=True, kw_only=True):
    """The coverage, and what it is based on.

    context: what the answer is based on
    value: what is served
    """

    context: Context
    value: Coverage
