"""The ledger's RPC methods: the standard node's, on finalized blocks."""

from collections.abc import Coroutine
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from django.conf import settings
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.commitment import (
    BlockForm,
    BlockOptions,
    Commitment,
    TransactionDetails,
    TransactionEncoding,
)
from chain.node_version import NodeVersion, node_version, refuses_base58
from chain.units import Slot, UnixTimestamp
from eventloop.faces import complete
from gaps.coverage import CoverageConfig, window_of
from gaps.errors import EmptyRange
from gateway.calls import Call
from historical.blocks.services import blocks, bounds
from historical.blocks.services.block_lists import slots_between, slots_from
from historical.configs import (
    AddressConfig,
    BlockConfig,
    ContextConfig,
    ListConfig,
    StatusesConfig,
    TransactionConfig,
)
from historical.coverage.services import coverage
from historical.errors import (
    BadPaginationToken,
    Base58Unsupported,
    BlockCleanedUp,
    BlockNotAvailable,
    CommitmentUnsupported,
    FilterTransactionNotFound,
    FilterUnsupported,
    LedgerEmpty,
    LimitInvalid,
    MinContextSlotNotReached,
    RangeHasGaps,
    RangeTooLarge,
    RemoteHistoryBusy,
    RemoteHistoryDamaged,
    RemoteHistoryUnavailable,
    SealedDataDamaged,
    SlotMissing,
    SlotSkipped,
    TooManySignatures,
    UnsupportedTransactionVersion,
)
from historical.remote.services.remote_history import RemoteReads, is_below
from historical.results import (
    AddressSignature,
    AddressTransactions,
    Block,
    Context,
    LedgerCoverage,
    SignatureStatuses,
    TransactionEntry,
)
from historical.transactions.filters import Filters
from historical.transactions.services import address_pages, addresses, transactions
from historical.transactions.services.address_pages import Page, SortOrder
from historical.transactions.services.whole_lists import whole_list
from jsonrpc.methods import MethodTable
from jsonrpc.node_params import NodeWord
from jsonrpc.params import U64, USIZE
from jsonrpc.wire import Encoded, encode

methods = MethodTable(as_node=True)


class AddressTransactionsConfig(TransactionConfig, frozen=True, kw_only=True):
    """Which transactions, in which order, and how they are written.

    transaction_details: `signatures` (the default) or `full`; no others are served here
    sort_order: by slot and place: `desc` (the default) is newest first
    limit: how many a page: up to 1,000 signatures, up to 100 full ones; the most is the default
    pagination_token: from the page before; order and filters must stay the same
    filters: what a transaction must be
    gaps: `error` refuses a page whose range has slots that are known to be missing. By default it
        is returned, and the header `X-Ledger-Gaps` names these slots
    """

    node_struct = ""

    transaction_details: TransactionDetails | None = None
    sort_order: SortOrder | None = None
    limit: U64 | None = None
    pagination_token: str | None = None
    filters: Filters | None = None
    gaps: Literal["error"] | None = None


def _finalized(config: ContextConfig) -> None:
    complete(_afinalized(config))


async def _afinalized(config: ContextConfig) -> None:
    if config.commitment is Commitment.PROCESSED:
        raise CommitmentUnsupported
    await bounds.arequire_context_slot(config.min_context_slot)


def _rules() -> NodeVersion:
    return node_version(settings.LEDGER_API_VERSION)


async def _await_slot(config: ContextConfig) -> None:
    """Of the methods whose `minContextSlot` older nodes do not read."""
    if config.min_context_slot is not None and _rules().awaits_statuses:
        await bounds.arequire_context_slot(config.min_context_slot)


def _readable(config: TransactionConfig) -> None:
    """As the node, before anything is looked up."""
    if config.encoding is None:
        return
    if refuses_base58(_rules(), config.encoding, config.max_supported_transaction_version):
        raise Base58Unsupported(config.max_supported_transaction_version)


T = TypeVar("T")
# A result, or the reading of it from the remote archive, for which no thread waits.
Later: TypeAlias = T | Coroutine[Any, Any, T]

C = TypeVar("C", bound=TransactionConfig)


def _whole(config: C | TransactionEncoding, kind: type[C]) -> C:
    """Old clients give the bare encoding where the config stands now."""
    return kind(encoding=config) if isinstance(config, TransactionEncoding) else config


def _reads(call: Call) -> RemoteReads:
    """What the ledger does not store may come from the remote history."""
    return RemoteReads(call.caller.key_id or call.address, call.headers)


_READS = (MinContextSlotNotReached, CommitmentUnsupported)
_NO_BLOCK = (BlockCleanedUp, BlockNotAvailable, SlotSkipped, SlotMissing)
_WRITTEN = (Base58Unsupported, UnsupportedTransactionVersion, SealedDataDamaged)
_REMOTE = (RemoteHistoryUnavailable, RemoteHistoryDamaged, RemoteHistoryBusy)
_LISTS = (*_READS, *_REMOTE, RangeTooLarge, RangeHasGaps)


@methods.add(
    "getTransaction",
    result=TransactionEntry | None,
    errors=(*_READS, *_NO_BLOCK, *_REMOTE, *_WRITTEN),
)
async def get_transaction(
    call: Call,
    signature: Signature,
    config: Annotated[
        TransactionEncoding | TransactionConfig, NodeWord("RpcEncodingConfigWrapper")
    ] = TransactionConfig(),
) -> Encoded | None:
    """A transaction, and what it did.

    signature: the transaction's signature, its first one
    config: how it is written; old clients send only the encoding
    returns: the transaction; null when the ledger does not have it
    """
    config = _whole(config, TransactionConfig)
    _readable(config)
    if config.commitment is Commitment.PROCESSED:
        raise CommitmentUnsupported
    await _await_slot(config)
    return await transactions.atransaction(
        signature,
        encoding=config.encoding or TransactionEncoding.JSON,
        max_version=config.max_supported_transaction_version,
        wanted=config.form or BlockForm.CURRENT,
        reads=_reads(call),
    )


@methods.add(
    "getSignatureStatuses",
    errors=(MinContextSlotNotReached, TooManySignatures, SealedDataDamaged),
)
async def get_signature_statuses(
    call: Call, signatures: list[Signature], config: StatusesConfig = StatusesConfig()
) -> SignatureStatuses:
    """What became of transactions, by their signatures.

    signatures: up to 256 of them
    config: how to look
    """
    await _await_slot(config)
    return SignatureStatuses(
        context=Context(
            slot=await bounds.anewest_slot_or_none() or 0, api_version=settings.LEDGER_API_VERSION
        ),
        value=await transactions.asignature_statuses(signatures),
    )


def _known_block(
    _call: Call, slot: U64, config: TransactionEncoding | BlockConfig = BlockConfig()
) -> Encoded | None:
    config = _whole(config, BlockConfig)
    _readable(config)
    if config.commitment is Commitment.PROCESSED or config.min_context_slot is not None:
        return None
    return blocks.known_block(slot, _options(config))


def _options(config: BlockConfig) -> BlockOptions:
    return BlockOptions(
        encoding=config.encoding or TransactionEncoding.JSON,
        details=config.transaction_details or TransactionDetails.FULL,
        rewards=config.rewards is not False,
        max_version=config.max_supported_transaction_version,
        form=config.form or BlockForm.CURRENT,
    )


@methods.add(
    "getBlock",
    result=Block,
    errors=(*_READS, *_NO_BLOCK, *_REMOTE, *_WRITTEN),
    expensive=True,
    known=_known_block,
)
def get_block(
    call: Call,
    slot: U64,
    config: Annotated[
        TransactionEncoding | BlockConfig, NodeWord("RpcEncodingConfigWrapper")
    ] = BlockConfig(),
) -> Later[Encoded]:
    """A block with its transactions and rewards. A slot without a block is an error that says
    whether the leader made none, or the ledger does not have it.

    slot: the block's slot
    config: how it is written; old clients send only the encoding
    """
    config = _whole(config, BlockConfig)
    _readable(config)
    _finalized(config)
    reads = _reads(call)
    read = partial(blocks.block, slot, _options(config), reads)
    return reads.later(read) if is_below(slot) else read()


@methods.add("getBlocks", result=list[int], errors=_LISTS)
def get_blocks(
    call: Call,
    start_slot: U64,
    end_slot: Annotated[U64 | ListConfig, NodeWord("RpcBlocksConfigWrapper")] | None = None,
    config: ListConfig = ListConfig(),
) -> Later[Encoded]:
    """Which slots of a range hold a block. The header `X-Ledger-Gaps` names slots between them that
    the ledger does not have, though they may hold one.

    start_slot: the first slot of the range
    end_slot: the last one, at most 500,000 further; by default as far as that, or to the
        newest. The config may be here instead
    config: what every method takes, and what to do if slots are missing
    returns: the slots that hold a block, lowest first, both ends included
    """
    if isinstance(end_slot, ListConfig):
        config, end_slot = end_slot, None
    _finalized(config)
    reads, strict = _reads(call), config.gaps == "error"

    def read() -> Encoded:
        return Encoded(encode(slots_between(start_slot, end_slot, reads, strict=strict)))

    last = start_slot + blocks.MAX_SLOTS if end_slot is None else end_slot
    return reads.later(read) if is_below(last) else read()


@methods.add("getBlocksWithLimit", result=list[int], errors=_LISTS)
def get_blocks_with_limit(
    call: Call, start_slot: U64, limit: USIZE, config: ListConfig = ListConfig()
) -> Later[Encoded]:
    """The next slots that hold a block. The header `X-Ledger-Gaps` names slots up to the last of
    them that the ledger does not have, though they may hold one.

    start_slot: where to begin
    limit: how many, at most 500,000
    config: what every method takes, and what to do if slots are missing
    returns: the slots that hold a block, lowest first
    """
    _finalized(config)
    reads, strict = _reads(call), config.gaps == "error"

    def read() -> Encoded:
        return Encoded(encode(slots_from(start_slot, limit, reads, strict=strict)))

    return reads.later(read) if is_below(start_slot + blocks.MAX_SLOTS) else read()


@methods.add(
    "getSignaturesForAddress",
    result=list[AddressSignature],
    errors=(*_READS, LimitInvalid, FilterTransactionNotFound, SealedDataDamaged, RangeHasGaps),
)
async def get_signatures_for_address(
    call: Call, address: Pubkey, config: AddressConfig = AddressConfig()
) -> Encoded:
    """Transactions that name an address or look it up, newest first. For the next page give the
    last signature as `before`. The header `X-Ledger-Gaps` names slots from the list's oldest to its
    newest end that the ledger does not have, though they may hold others. Of a signature that is
    stored in two slots, `before` and `until` mean the higher one, and no page ends with the other.

    address: an account of any kind: a wallet, a mint, a program
    config: which part of the list
    returns: one entry a transaction, newest first
    """
    limit = addresses.MAX_LIMIT if config.limit is None else config.limit
    addresses.require_limit(limit, addresses.MAX_LIMIT)
    await _afinalized(config)
    read = partial(
        addresses.signatures_for_address,
        address,
        limit=limit,
        before=config.before,
        until=config.until,
    )
    return await whole_list(read, call.headers, strict=config.gaps == "error")


@methods.add(
    "getTransactionsForAddress",
    expensive=True,
    errors=(
        *_READS,
        *_NO_BLOCK,
        LimitInvalid,
        BadPaginationToken,
        FilterUnsupported,
        RangeHasGaps,
        *_WRITTEN,
    ),
)
def get_transactions_for_address(
    call: Call, address: Pubkey, config: AddressTransactionsConfig = AddressTransactionsConfig()
) -> AddressTransactions:
    """Transactions that name an address or look it up, filtered, in either order, page by page, and
    whole if you like. The header `X-Ledger-Gaps` names slots of the page's range that the ledger
    does not have, though they may hold others.

    address: an account of any kind: a wallet, a mint, a program
    config: which transactions, in which order, and how they are written
    """
    _readable(config)
    _finalized(config)
    details = config.transaction_details or TransactionDetails.SIGNATURES
    filters = config.filters or Filters()
    if details not in (TransactionDetails.SIGNATURES, TransactionDetails.FULL):
        raise FilterUnsupported("transactionDetails", details.value, "signatures, full")
    if filters.token_accounts not in (None, "none"):
        raise FilterUnsupported("filters.tokenAccounts", filters.token_accounts, "none")
    full, strict = details is TransactionDetails.FULL, config.gaps == "error"
    page = Page(
        order=config.sort_order or SortOrder.DESC,
        limit=(address_pages.MAX_FULL if full else addresses.MAX_LIMIT)
        if config.limit is None
        else config.limit,
        token=config.pagination_token,
        filters=filters,
    )
    if not full:
        return address_pages.transactions_for_address(address, page, call.headers, strict=strict)
    return address_pages.full_transactions_for_address(
        address,
        page,
        call.headers,
        strict=strict,
        encoding=config.encoding or TransactionEncoding.JSON,
        max_version=config.max_supported_transaction_version,
        wanted=config.form or BlockForm.CURRENT,
    )


@methods.add("getSlot", errors=(MinContextSlotNotReached, LedgerEmpty))
async def get_slot(call: Call, config: ContextConfig = ContextConfig()) -> Slot:
    """The highest slot of the ledger, which holds what is finalized: the chain itself is some slots
    ahead.

    config: what every method takes
    returns: the slot
    """
    await bounds.arequire_context_slot(config.min_context_slot)
    return await bounds.anewest_slot()


@methods.add("getBlockTime", result=UnixTimestamp | None, errors=(*_NO_BLOCK, *_REMOTE))
def get_block_time(call: Call, slot: U64) -> Later[UnixTimestamp | None]:
    """When a block was made, as its validators estimated it.

    slot: the block's slot
    returns: Unix seconds; null if no time was recorded
    """
    reads = _reads(call)
    read = partial(blocks.block_time, slot, reads)
    return reads.later(read) if is_below(slot) else read()


@methods.add("getFirstAvailableBlock", result=Slot, errors=(LedgerEmpty, *_REMOTE))
def get_first_available_block(call: Call) -> Later[Slot]:
    """The lowest slot that is served: of the ledger, or of the remote history below it.

    returns: the slot
    """
    reads = _reads(call)
    read = partial(coverage.first_available_block, reads)
    return reads.later(read) if coverage.may_begin_remotely() else read()


@methods.add("getLedgerCoverage", errors=(EmptyRange,))
def get_ledger_coverage(call: Call, config: CoverageConfig = CoverageConfig()) -> LedgerCoverage:
    """Which slots are stored, which between them are missing, and which are read from a remote
    archive. No method of the standard node.

    config: which window, and how much of its gaps
    """
    return coverage.coverage(window_of(config))
