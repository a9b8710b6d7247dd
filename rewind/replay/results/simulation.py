"""Results of simulations on past state."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey

from gaps.coverage import GapEntry
from gateway.node_json import (
    EncodedBytes,
    InnerInstructions,
    ParsedData,
    ReturnData,
    TransactionError,
)
from jsonrpc.wire import As, Result
from rewind.accounts.results.completeness import Completeness
from rewind.proof.results import Standing
from rewind.replay.results.missing_rules import MissingRuleEntry


class AccountAfter(Result, frozen=True, kw_only=True):
    """An account as the transaction left it, or as it was there if the transaction did not load
    it.

    lamports: its balance
    owner: the program that it belongs to
    data: a pair of text and encoding; an object if it was parsed
    executable: whether it is a program
    rent_epoch: the epoch in which it owes rent; 18446744073709551615 means never
    space: the length of its data in bytes
    """

    lamports: int
    owner: Annotated[str, As(Pubkey)]
    data: Annotated[Any, As(EncodedBytes | ParsedData)]
    executable: bool
    rent_epoch: int
    space: int


class Place(Result, frozen=True, kw_only=True):
    """The place of a transaction in the ledger.

    slot: its slot
    transaction_index: its place in the block
    """

    slot: int
    transaction_index: int


class OwnPlace(Result, frozen=True, kw_only=True):
    """What a replay in the transaction's own place, without overrides, comes to.

    fidelity: whether all of it matches the chain (`verified`), does not (`diverged`), or cannot
        be compared (`unverified`)
    fidelity_fields: the fields that differ, if it diverged
    fidelity_reason: a word for why it is unverified; else null
    """

    fidelity: Literal["verified", "diverged", "unverified"]
    fidelity_fields: list[str]
    fidelity_reason: str | None


class SimulatedTransaction(Result, frozen=True, kw_only=True):
    """What the transaction did, or would have done.

    err: what it failed by; null when it succeeded
    logs: the programs' log
    accounts: the accounts that were asked for, as it left them; one that it loads and that is
        empty has 0 lamports, one that does not exist is null; null for each if it failed; null
        instead of the list unless requested
    units_consumed: compute units that it took
    return_data: what a program returned last; null without such data
    inner_instructions: calls of programs; null unless requested
    rewind_slot: the slot that it ran in
    rewind_load_slot: the slot of the accounts that it found
    rewind_overridden_accounts: the accounts that were overridden
    rewind_override_loads: the accounts that were taken from another slot, and from which
    fidelity: of a transaction of the ledger that ran in its own place on its own state: whether all
        of it matches the chain (`verified`), does not (`diverged`), or cannot be compared
        (`unverified`, also if the ledger does not have the transaction); `not_applicable` for
        another position, or with overrides
    fidelity_fields: the fields that differ, if it diverged
    fidelity_reason: a word for why it is unverified or, if known, why it diverged, such as
        `program_build_unknown`, or `engine_missing_rules` if `context.missingRules` names rules
        of the chain that the engine does not support; `another_position` or `overrides` if it is
        not applicable; else null
    fidelity_at: the transaction's own place; null if the ledger does not have it
    own_place: if `fidelity` is not applicable, what it is in the transaction's own place; null
        if the ledger does not have it
    """

    err: TransactionError
    logs: list[str]
    accounts: list[AccountAfter | None] | None
    units_consumed: int
    return_data: Annotated[Any, As(ReturnData | None)]
    inner_instructions: Annotated[list[Any] | None, As(list[InnerInstructions] | None)]
    rewind_slot: int
    rewind_load_slot: int
    rewind_overridden_accounts: Annotated[list[str], As(list[Pubkey])]
    rewind_override_loads: dict[str, int]
    fidelity: Literal["verified", "diverged", "unverified", "not_applicable"]
    fidelity_fields: list[str]
    fidelity_reason: str | None
    fidelity_at: Place | None
    own_place: OwnPlace | None


class SimulationContext(Result, frozen=True, kw_only=True):
    """What the answer is based on.

    api_version: the version of the archive's interface
    slot: the slot that it ran in
    gap: the newest run of missing slots between the state and the position: an account may have
        been written there; absent without such a run
    completeness: whether the whole history would give the same answer
    proof: whether the cluster voted for what the archive has at the end of the slot of the
        accounts; absent unless requested
    missing_rules: rules of the chain that the engine does not support; absent without any
    """

    api_version: str
    slot: int
    gap: GapEntry | UnsetType = UNSET
    completeness: Completeness
    proof: Standing | UnsetType = UNSET
    missing_rules: list[MissingRuleEntry] | UnsetType = UNSET


class Simulation(Result, frozen=True, kw_only=True):
    """What the transaction did, and what the answer is based on.

    context: what the answer is based on
    value: what the transaction did
    """

    context: SimulationContext
    value: SimulatedTransaction
