"""Methods about transactions in blocks."""

from typing import Annotated, Any

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import TransactionRecord
from chain.commitment import Commitment, TransactionEncoding
from chain.record_json import UnsupportedVersion, transaction_text
from chain.units import Slot
from jsonrpc.node_params import NodeWord
from jsonrpc.params import U8, USIZE
from localnet.bank import Bank
from localnet.errors import BadParams, UnsupportedTransactionVersion
from localnet.methods.blocks import at_least_confirmed
from localnet.methods.table import (
    ContextConfig,
    Node,
    bank_for,
    in_context,
    methods,
    require_readable,
)

_MOST_STATUSES = 256
_MOST_SIGNATURES = 1_000
_MOST_LOCKS = 128
_BEYOND = 2**62  # above every slot and index, and an integer for SQLite


class TransactionConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcTransactionConfig"

    encoding: TransactionEncoding | None = None
    max_supported_transaction_version: U8 | None = None


class StatusesConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcSignatureStatusConfig"

    search_transaction_history: bool = False


class AddressConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcSignaturesForAddressConfig"

    before: Signature | None = None
    until: Signature | None = None
    limit: USIZE | None = None


@methods.add("getTransaction")
def get_transaction(
    call: Node,
    signature: Signature,
    config: Annotated[
        TransactionEncoding | TransactionConfig, NodeWord("RpcEncodingConfigWrapper")
    ] = TransactionConfig(),
) -> msgspec.Raw | None:
    if isinstance(config, TransactionEncoding):
        config = TransactionConfig(encoding=config)
    require_readable(config.encoding, config.max_supported_transaction_version)
    commitment = at_least_confirmed(config)
    bank_for(call, config)
    found = _found(call, bytes(signature), commitment)
    if found is None:
        return None
    slot, index, block_time, record = found
    try:
        text = transaction_text(
            record,
            slot=slot,
            index=index,
            block_time=block_time,
            encoding=config.encoding or TransactionEncoding.JSON,
            max_version=config.max_supported_transaction_version,
        )
    except UnsupportedVersion as error:
        raise UnsupportedTransactionVersion(error.version) from None
    return msgspec.Raw(text)


@methods.add("getSignatureStatuses")
def get_signature_statuses(
    call: Node, signatures: list[Signature], config: StatusesConfig = StatusesConfig()
) -> dict[str, Any]:
    if len(signatures) > _MOST_STATUSES:
        raise BadParams(f"Too many inputs provided; max {_MOST_STATUSES}")
    context = ContextConfig(
        commitment=config.commitment or Commitment.PROCESSED,
        min_context_slot=config.min_context_slot,
    )
    bank, search = bank_for(call, context), config.search_transaction_history
    return in_context(bank, [_status(call, bank, bytes(each), search) for each in signatures])


@methods.add("getSignaturesForAddress")
def get_signatures_for_address(
    call: Node, address: Pubkey, config: AddressConfig = AddressConfig()
) -> list[dict[str, Any]]:
    """Newest first."""
    limit = _MOST_SIGNATURES if config.limit is None else config.limit
    if not 0 < limit <= _MOST_SIGNATURES:
        raise BadParams(f"Invalid limit; max {_MOST_SIGNATURES}")
    commitment = at_least_confirmed(config)
    bank_for(call, ContextConfig(min_context_slot=config.min_context_slot, commitment=commitment))
    before = (_BEYOND, _BEYOND) if config.before is None else _place(call, config.before)
    until = (-1, -1) if config.until is None else _place(call, config.until)
    if before is None:
        return []
    answer = []
    for bank in call.ledger.latest(commitment).line():
        if bank.slot > call.ledger.root.slot:
            answer += _signatures_in(bank, bytes(address), before, until or (-1, -1))
    if len(answer) < limit:
        older = call.ledger.storage.transactions_of(
            bytes(address), before=before, until=until or (-1, -1), limit=limit - len(answer)
        )
        answer += [_listed(*each, Commitment.FINALIZED) for each in older]
    return answer[:limit]


@methods.add("getRecentPrioritizationFees")
def get_recent_prioritization_fees(
    call: Node,
    locked: list[Pubkey] = [],  # noqa: B006
) -> list[dict[str, int]]:
    """The least that a transaction paid per unit for writing the given accounts, block by block."""
    if len(locked) > _MOST_LOCKS:
        raise BadParams(f"Too many inputs provided; max {_MOST_LOCKS}")
    return [
        {"prioritizationFee": prices.least_for(locked), "slot": slot}
        for slot, prices in call.ledger.prices
    ]


def _found(
    call: Node, signature: bytes, commitment: Commitment
) -> tuple[Slot, int, int | None, TransactionRecord] | None:
    """A transaction's slot, index in the block, block time and record."""
    ledger = call.ledger
    for bank in ledger.latest(commitment).line():
        status = bank.statuses.get(signature)
        if status is not None and bank.slot > ledger.root.slot:
            return bank.slot, status.index, bank.block_time, bank.ran[status.index].record
    place = ledger.storage.place_of(signature)
    block = place and ledger.storage.block(place[0])
    if not place or not block:
        return None
    return block.slot, place[1], block.block_time, block.transactions[place[1]]


def _status(call: Node, bank: Bank, signature: bytes, search: bool) -> dict[str, Any] | None:
    """The transaction's status as of the bank, or from the history."""
    seen = call.ledger.seen(signature)
    if seen is not None and seen.status.slot <= bank.slot:
        status, commitment, confirmations = seen
        slot, err = status.slot, status.err
    else:
        place = call.ledger.storage.place_of(signature) if search else None
        if place is None:
            return None
        slot, _, err = place
        commitment, confirmations = Commitment.FINALIZED, None
    return {
        "confirmationStatus": commitment.value,
        "confirmations": confirmations,
        "err": err,
        "slot": slot,
        "status": {"Ok": None} if err is None else {"Err": err},
    }


def _place(call: Node, signature: Signature) -> tuple[int, int] | None:
    seen = call.ledger.seen(bytes(signature))
    if seen is not None:
        return seen.status.slot, seen.status.index
    place = call.ledger.storage.place_of(bytes(signature))
    return None if place is None else (place[0], place[1])


def _signatures_in(
    bank: Bank, address: bytes, before: tuple[int, int], until: tuple[int, int]
) -> list[dict[str, Any]]:
    reached = Commitment.CONFIRMED if bank.confirmed else Commitment.PROCESSED
    found = []
    for ran in reversed(bank.ran):
        if until < (bank.slot, ran.index) < before and address in ran.found_by.addresses:
            err = (ran.record.meta or {}).get("err")
            found.append(
                _listed(
                    ran.signature,
                    bank.slot,
                    ran.index,
                    err,
                    ran.found_by.memo,
                    bank.block_time,
                    reached,
                )
            )
    return found


def _listed(
    signature: bytes,
    slot: int,
    index: int,
    err: Any,
    memo: str | None,
    block_time: int | None,
    commitment: Commitment,
) -> dict[str, Any]:
    return {
        "blockTime": block_time,
        "confirmationStatus": commitment.value,
        "err": err,
        "memo": memo,
        "signature": str(Signature(signature)),
        "slot": slot,
        "transactionIndex": index,
    }
