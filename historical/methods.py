"""The ledger's RPC methods: the standard node's, on finalized blocks."""

from typing import TypeVar

from django.conf import settings
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from chain.units import Slot, UnixTimestamp
from gateway.endpoint import Call
from historical.errors import CommitmentUnsupported, FilterUnsupported
from historical.filters import Filters
from historical.results import AddressSignature, AddressTransactions, Context, SignatureStatuses
from historical.services import address_pages, addresses, blocks, bounds, transactions
from historical.services.address_pages import Page, SortOrder
from jsonrpc.methods import MethodTable
from jsonrpc.params import U8, U64, Config
from jsonrpc.wire import Encoded

methods = MethodTable()


class ContextConfig(Config, frozen=True, kw_only=True):
    """What every method takes."""

    commitment: Commitment | None = None
    min_context_slot: U64 | None = None


class TransactionConfig(ContextConfig, frozen=True, kw_only=True):
    encoding: TransactionEncoding | None = None
    max_supported_transaction_version: U8 | None = None


class BlockConfig(TransactionConfig, frozen=True, kw_only=True):
    transaction_details: TransactionDetails | None = None
    rewards: bool | None = None


class StatusesConfig(ContextConfig, frozen=True, kw_only=True):
    """`searchTransactionHistory` is always true in effect: the ledger is all history."""

    search_transaction_history: bool | None = None


class AddressConfig(ContextConfig, frozen=True, kw_only=True):
    limit: U64 | None = None
    before: Signature | None = None
    until: Signature | None = None


class AddressTransactionsConfig(TransactionConfig, frozen=True, kw_only=True):
    transaction_details: TransactionDetails | None = None
    sort_order: SortOrder | None = None
    limit: U64 | None = None
    pagination_token: str | None = None
    filters: Filters | None = None


def _finalized(config: ContextConfig) -> None:
    if config.commitment is Commitment.PROCESSED:
        raise CommitmentUnsupported
    bounds.require_context_slot(config.min_context_slot)


C = TypeVar("C", bound=TransactionConfig)


def _whole(config: C | TransactionEncoding, kind: type[C]) -> C:
    """Old clients give the bare encoding where the config stands now."""
    return kind(encoding=config) if isinstance(config, TransactionEncoding) else config


@methods.add("getTransaction")
def get_transaction(
    call: Call,
    signature: Signature,
    config: TransactionConfig | TransactionEncoding = TransactionConfig(),
) -> Encoded | None:
    """A transaction with its status meta, or null when the ledger does not have it."""
    config = _whole(config, TransactionConfig)
    _finalized(config)
    return transactions.transaction(
        signature,
        encoding=config.encoding or TransactionEncoding.JSON,
        max_version=config.max_supported_transaction_version,
    )


@methods.add("getSignatureStatuses")
def get_signature_statuses(
    call: Call, signatures: list[Signature], config: StatusesConfig = StatusesConfig()
) -> SignatureStatuses:
    """The statuses of up to 256 signatures; null for one that the ledger does not have."""
    bounds.require_context_slot(config.min_context_slot)
    return SignatureStatuses(
        context=Context(
            slot=bounds.newest_slot_or_none() or 0, api_version=settings.LEDGER_API_VERSION
        ),
        value=transactions.signature_statuses(signatures),
    )


@methods.add("getBlock")
def get_block(
    call: Call, slot: U64, config: BlockConfig | TransactionEncoding = BlockConfig()
) -> Encoded:
    """A block with its transactions and rewards."""
    config = _whole(config, BlockConfig)
    _finalized(config)
    return blocks.block(
        slot,
        encoding=config.encoding or TransactionEncoding.JSON,
        details=config.transaction_details or TransactionDetails.FULL,
        rewards=config.rewards is not False,
        max_version=config.max_supported_transaction_version,
    )


@methods.add("getBlocks")
def get_blocks(
    call: Call,
    start_slot: U64,
    end_slot: U64 | ContextConfig | None = None,
    config: ContextConfig = ContextConfig(),
) -> list[int]:
    """The slots from start to end that hold a block, both ends inclusive, at most 500,000."""
    if isinstance(end_slot, ContextConfig):
        config, end_slot = end_slot, None
    _finalized(config)
    return blocks.slots_between(start_slot, end_slot)


@methods.add("getBlocksWithLimit")
def get_blocks_with_limit(
    call: Call, start_slot: U64, limit: U64, config: ContextConfig = ContextConfig()
) -> list[int]:
    """The next slots that hold a block, at most 500,000."""
    _finalized(config)
    return blocks.slots_from(start_slot, limit)


@methods.add("getSignaturesForAddress")
def get_signatures_for_address(
    call: Call, address: Pubkey, config: AddressConfig = AddressConfig()
) -> list[AddressSignature]:
    """Transactions that load the address, newest first, at most 1,000."""
    _finalized(config)
    return addresses.signatures_for_address(
        address,
        limit=addresses.MAX_LIMIT if config.limit is None else config.limit,
        before=config.before,
        until=config.until,
    )


@methods.add("getTransactionsForAddress")
def get_transactions_for_address(
    call: Call, address: Pubkey, config: AddressTransactionsConfig = AddressTransactionsConfig()
) -> AddressTransactions:
    """Transactions that load the address, filtered, in either order, page by page."""
    _finalized(config)
    details = config.transaction_details or TransactionDetails.SIGNATURES
    filters = config.filters or Filters()
    if details not in (TransactionDetails.SIGNATURES, TransactionDetails.FULL):
        raise FilterUnsupported("transactionDetails", details.value, "signatures, full")
    if filters.token_accounts not in (None, "none"):
        raise FilterUnsupported("filters.tokenAccounts", filters.token_accounts, "none")
    full = details is TransactionDetails.FULL
    page = Page(
        order=config.sort_order or SortOrder.DESC,
        limit=(address_pages.MAX_FULL if full else addresses.MAX_LIMIT)
        if config.limit is None
        else config.limit,
        token=config.pagination_token,
        filters=filters,
    )
    if not full:
        return address_pages.transactions_for_address(address, page)
    return address_pages.full_transactions_for_address(
        address,
        page,
        encoding=config.encoding or TransactionEncoding.JSON,
        max_version=config.max_supported_transaction_version,
    )


@methods.add("getSlot")
def get_slot(call: Call, config: ContextConfig = ContextConfig()) -> Slot:
    """The highest slot of the ledger."""
    bounds.require_context_slot(config.min_context_slot)
    return bounds.newest_slot()


@methods.add("getBlockTime")
def get_block_time(call: Call, slot: U64) -> UnixTimestamp | None:
    """The estimated production time of a block in Unix seconds, null where none was recorded."""
    return blocks.block_time(slot)


@methods.add("getFirstAvailableBlock")
def get_first_available_block(call: Call) -> Slot:
    """The lowest slot of the ledger."""
    return bounds.first_available_block()
