"""The answer of a simulation on past state, field for field as the interface lists it."""

from typing import Any, Literal

from jsonrpc.wire import Result
from rewind.results.accounts import Context


class AccountAfter(Result, frozen=True, kw_only=True):
    """An account as the transaction left it; `data` is `[base64, "base64"]`."""

    lamports: int
    owner: str
    data: list[str]
    executable: bool
    rent_epoch: int
    space: int


class SimulatedTransaction(Result, frozen=True, kw_only=True):
    """What the transaction did. `accounts` and `inner_instructions` are None where they were not
    asked for. `rewind_slot` is the slot that it ran in, `rewind_load_slot` that of the accounts it
    found. `fidelity` says whether the same transaction, replayed where it stands in the ledger,
    ends as the chain says: `fidelity_fields` are those that differ, `fidelity_reason` is why it
    cannot be told.
    """

    err: Any
    logs: list[str]
    accounts: list[AccountAfter | None] | None
    units_consumed: int
    return_data: Any
    inner_instructions: list[Any] | None
    rewind_slot: int
    rewind_load_slot: int
    rewind_overridden_accounts: list[str]
    rewind_override_loads: dict[str, int]
    fidelity: Literal["verified", "diverged", "unverified"]
    fidelity_fields: list[str]
    fidelity_reason: str | None


class Simulation(Result, frozen=True, kw_only=True):
    context: Context
    value: SimulatedTransaction
