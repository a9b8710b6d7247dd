"""A transaction of the ledger in words, for `explainTransaction`, the portal and the admin."""

from dataclasses import dataclass
from typing import Any

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.commitment import TransactionEncoding
from chain.explained.instructions import Call, KnownIdl, unknown_programs
from chain.explained.movements import Tip, tips_of
from chain.explained.transactions import Explanation, explain
from historical.remote.services.remote_history import RemoteReads
from historical.transactions.outcomes import err_of, outcome_of
from historical.transactions.services.transactions import transaction
from rewind.explained.results import (
    BalanceChange,
    ComputeUse,
    ErrorName,
    ExplainedAccount,
    ExplainedFees,
    ExplainedInstruction,
    ExplainedTip,
    ExplainedTransaction,
    ExplainedTransfer,
    Failure,
    InstructionAccount,
    TokenBalanceChange,
    UsedIdl,
    same_fields,
)
from rewind.explained.services.idls import idls_at
from tipping.store.addresses import expiries

_ANY_VERSION = 255


@dataclass(frozen=True, slots=True)
class Explained:
    """A transaction, as getTransaction returns it in the encoding `json`, and what it came to."""

    entry: dict[str, Any]
    explanation: Explanation
    tips: tuple[Tip, ...]


def explained(signature: Signature, reads: RemoteReads | None = None) -> Explained | None:
    """What became of it and why; None where the ledger does not have it. Raises what getTransaction
    does.
    """
    entry = entry_of(signature, reads)
    if entry is None:
        return None
    unknown = {Pubkey.from_string(each) for each in unknown_programs(entry)}
    found = explain(entry, idls_at(unknown, entry["slot"]))
    paid = {each.destination for each in found.transfers if not each.mint} - {None}
    own = expiries([bytes(Pubkey.from_string(str(each))) for each in paid])
    tips = tips_of(found.transfers, {str(Pubkey(each)) for each in own})
    return Explained(entry, found, tuple(tips))


def entry_of(signature: Signature, reads: RemoteReads | None = None) -> dict[str, Any] | None:
    """As getTransaction returns it in the encoding `json`; None where the ledger does not have it.
    Raises what getTransaction does.
    """
    text = transaction(
        signature, encoding=TransactionEncoding.JSON, max_version=_ANY_VERSION, reads=reads
    )
    if text is None:
        return None
    entry: dict[str, Any] = msgspec.json.decode(bytes(text))
    return entry


def result_of(found: Explained) -> ExplainedTransaction:
    """For the wire."""
    entry, explanation = found.entry, found.explanation
    meta = entry["meta"]
    failed_at = None if explanation.failed is None else explanation.failed.instruction
    return ExplainedTransaction(
        signature=entry["transaction"]["signatures"][0],
        slot=entry["slot"],
        transaction_index=entry["transactionIndex"],
        block_time=entry["blockTime"],
        version=entry.get("version", "legacy"),
        outcome=outcome_of(err_of(meta)),
        err=meta and meta.get("err"),
        failure=_failure(explanation),
        instructions=[
            _instruction(each, failed_at, ran=None if meta is None else index < explanation.ran)
            for index, each in enumerate(explanation.calls)
        ],
        accounts=same_fields(explanation.accounts, list[ExplainedAccount]),
        transfers=same_fields(explanation.transfers, list[ExplainedTransfer]),
        balances=same_fields(explanation.balances, list[BalanceChange]),
        token_balances=same_fields(explanation.tokens, list[TokenBalanceChange]),
        fees=same_fields(explanation.fees, ExplainedFees),
        tips=same_fields(found.tips, list[ExplainedTip]),
        compute=_compute(explanation),
        idls=[used_idl(program, known) for program, known in explanation.idls.items()],
    )


def used_idl(program_id: str, known: KnownIdl) -> UsedIdl:
    return UsedIdl(
        program_id=program_id,
        name=known.idl.name,
        version=known.idl.version,
        source=known.source,
        from_slot=known.slot,
    )


def _failure(found: Explanation) -> Failure | None:
    if not found.technical:
        return None
    return Failure(
        sentence=found.sentence,
        technical=found.technical,
        instruction=None if found.failed is None else found.failed.instruction,
        program_id=None if found.failed is None else found.failed.program_id,
        error=same_fields(found.error, ErrorName | None),
    )


def _instruction(call: Call, failed_at: str | None, *, ran: bool | None) -> ExplainedInstruction:
    decoded = call.decoded
    return ExplainedInstruction(
        number=call.number,
        depth=call.depth,
        program_id=call.program_id,
        program=call.program,
        decoded_by=decoded.by,
        type=decoded.kind or None,
        event=decoded.is_event,
        info=None if decoded.info is None else dict(decoded.info),
        accounts=same_fields(call.accounts, list[InstructionAccount]),
        data=call.data,
        ran=ran,
        failed=call.number == failed_at,
        inner=[_instruction(each, failed_at, ran=ran) for each in call.inner],
    )


def _compute(found: Explanation) -> ComputeUse:
    asked = None if found.settings is None else found.settings.asked
    return ComputeUse(
        used=found.units_used,
        limit=found.units_asked,
        unit_price=None if asked is None else asked.unit_price,
        heap_size=None if asked is None else asked.heap_size,
        loaded_accounts_data_size_limit=(
            None if asked is None else asked.loaded_accounts_data_size_limit
        ),
    )
