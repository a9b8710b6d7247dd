"""Methods about blocks."""

from typing import Annotated

import msgspec

from chain.blocks import SlotRecord
from chain.commitment import Commitment, TransactionDetails, TransactionEncoding
from chain.record_json import UnsupportedVersion, block_text
from chain.units import Slot
from jsonrpc.node_params import NodeWord
from jsonrpc.params import U8, U64, USIZE, Config
from localnet.bank import Bank
from localnet.errors import (
    BadParams,
    BlockCleanedUp,
    BlockNotAvailable,
    BlockStatusNotAvailableYet,
    SlotSkipped,
    UnsupportedTransactionVersion,
)
from localnet.methods.table import ContextConfig, Node, bank_for, methods, require_readable
from localnet.opening import GENESIS_TIME

_MOST_BLOCKS = 500_000


class BlockConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcBlockConfig"
    node_drops = frozenset({"commitment"})

    commitment: Commitment | None = None
    encoding: TransactionEncoding | None = None
    transaction_details: TransactionDetails | None = None
    rewards: bool | None = None
    max_supported_transaction_version: U8 | None = None


@methods.add("getBlock")
def get_block(
    call: Node,
    slot: U64,
    config: Annotated[
        TransactionEncoding | BlockConfig, NodeWord("RpcEncodingConfigWrapper")
    ] = BlockConfig(),
) -> msgspec.Raw:
    if isinstance(config, TransactionEncoding):
        config = BlockConfig(encoding=config)
    require_readable(config.encoding, config.max_supported_transaction_version)
    record = _record(call, Slot(slot), at_least_confirmed(config))
    try:
        text = block_text(
            record,
            encoding=config.encoding or TransactionEncoding.JSON,
            details=config.transaction_details or TransactionDetails.FULL,
            rewards=config.rewards is not False,
            max_version=config.max_supported_transaction_version,
        )
    except UnsupportedVersion as error:
        raise UnsupportedTransactionVersion(error.version) from None
    return msgspec.Raw(text)


@methods.add("getBlocks")
def get_blocks(
    call: Node,
    start_slot: U64,
    end_slot: Annotated[U64 | ContextConfig, NodeWord("RpcBlocksConfigWrapper")] | None = None,
    config: ContextConfig = ContextConfig(),
) -> list[int]:
    if isinstance(end_slot, ContextConfig):
        config, end_slot = end_slot, None
    newest = _newest(call, config).slot
    end = newest if end_slot is None else min(end_slot, newest)
    if end < start_slot:
        return []
    if end - start_slot > _MOST_BLOCKS:
        raise BadParams(f"Slot range too large; max {_MOST_BLOCKS}")
    return _produced(call, start_slot, end, at_least_confirmed(config), _MOST_BLOCKS + 1)


@methods.add("getBlocksWithLimit")
def get_blocks_with_limit(
    call: Node, start_slot: U64, limit: USIZE, config: ContextConfig = ContextConfig()
) -> list[int]:
    if limit > _MOST_BLOCKS:
        raise BadParams(f"Limit too large; max {_MOST_BLOCKS}")
    newest = _newest(call, config).slot
    if start_slot > newest:
        return []
    return _produced(call, start_slot, newest, at_least_confirmed(config), limit)


@methods.add("getBlockTime")
def get_block_time(call: Node, slot: U64) -> int | None:
    """A node knows when its chain began after it has dropped the first block, too."""
    if slot == 0 and (began := call.ledger.storage.number(GENESIS_TIME)):
        return began
    return _record(call, Slot(slot), Commitment.CONFIRMED).block_time


@methods.add("getFirstAvailableBlock")
def get_first_available_block(call: Node) -> int:
    return call.ledger.storage.first_slot() or 0


@methods.add("minimumLedgerSlot")
def minimum_ledger_slot(call: Node) -> int:
    return call.ledger.storage.first_slot() or 0


def at_least_confirmed(config: ContextConfig | BlockConfig) -> Commitment:
    """The commitment asked for; history has nothing below `confirmed`."""
    if config.commitment is Commitment.PROCESSED:
        raise BadParams("Method does not support commitment below `confirmed`")
    return config.commitment or Commitment.FINALIZED


def _newest(call: Node, config: ContextConfig) -> Bank:
    commitment = at_least_confirmed(config)
    return bank_for(
        call, ContextConfig(commitment=commitment, min_context_slot=config.min_context_slot)
    )


def _record(call: Node, slot: Slot, commitment: Commitment) -> SlotRecord:
    ledger = call.ledger
    if slot > ledger.root.slot:
        bank = ledger.bank_of(slot, commitment)
        if bank is not None:
            return bank.record()
        if slot > ledger.latest(commitment).slot:
            if ledger.bank_of(slot, Commitment.PROCESSED) is not None:
                raise BlockStatusNotAvailableYet(slot)
            raise BlockNotAvailable(slot)
        raise SlotSkipped(slot)
    first = ledger.storage.first_slot() or Slot(0)
    if slot < first:
        raise BlockCleanedUp(slot, first)
    record = ledger.storage.block(slot)
    if record is None:
        raise SlotSkipped(slot)
    return record


def _produced(call: Node, start: int, end: int, commitment: Commitment, limit: int) -> list[int]:
    ledger = call.ledger
    found: list[int] = list(ledger.storage.slots(start, end, limit))
    newer = [bank.slot for bank in ledger.latest(commitment).line()]
    found += [slot for slot in reversed(newer) if ledger.root.slot < slot and start <= slot <= end]
    return found[:limit]
