"""Executes one transaction: checks, VM, outcome."""

from collections.abc import Callable
from typing import Any

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import (
    FailedTransactionMetadata,
    SimulatedTransactionInfo,
    TransactionMetadata,
)

from chain import addresses
from chain.units import U64_MAX
from simulator.budget import Budget, read_budget
from simulator.checks import (
    LoadFailed,
    check_age,
    check_form,
    check_loaded,
    check_locks,
    check_payer,
    check_signatures,
)
from simulator.costs import cost_units
from simulator.effects import (
    exempt,
    inner_instructions,
    return_data,
    with_lamports,
    writes_of_failure,
    writes_of_success,
)
from simulator.errors import Refused
from simulator.lookups import load_lookups
from simulator.machine import Machine
from simulator.moment import Moment
from simulator.nonces import Nonce
from simulator.outcome import Outcome, refused
from simulator.parts import Parts, take_apart
from simulator.token_balances import TOKEN_PROGRAMS, token_balances
from simulator.vm_form import original_logs, vm_form

Load = Callable[[Pubkey], Account | None]
Accounts = list[Account | None]
# Errors of loading: the VM finds some that the checks before it do not.
LOAD_ERRORS = frozenset(
    {
        "ProgramAccountNotFound",
        "InvalidProgramForExecution",
        "MaxLoadedAccountsDataSizeExceeded",
        "ProgramCacheHitMaxLimit",
    }
)
# Errors of a whole transaction that occur while it runs.
_RUN_ERRORS = frozenset({"UnbalancedTransaction", "ProgramExecutionTemporarilyRestricted"})


class _Failed(msgspec.Struct):
    err: Any


_failed = msgspec.json.Decoder(_Failed).decode


def run(
    transaction: VersionedTransaction,
    machine: Machine,
    load: Load,
    moment: Moment,
    *,
    verify: bool,
) -> Outcome:
    """The transaction's outcome on this machine."""
    rules = machine.rules
    cached = _AccountCache(machine, load)
    machine.set_sysvars(load, moment.slot)
    parts: Parts | None = None
    try:
        parts = take_apart(transaction)
        check_form(parts, rules)
        if verify:
            check_signatures(parts)
        budget = read_budget(parts, builtins_take_less=rules.builtins_take_less)
        load_lookups(parts, cached, moment.slot)
        check_locks(parts, rules.most_locks)
        accounts = [cached(key) for key in parts.keys]
        nonce = check_age(parts, accounts, moment, rules)
        check_payer(accounts[0], budget.fee, machine.rent_minimum)
    except Refused as refusal:
        return refused(refusal.err, parts.keys if parts is not None else [])
    execution = _Execution(parts, accounts, budget, nonce, cached, machine)
    try:
        size = check_loaded(parts, accounts, budget, cached, machine.programs.code_size)
    except LoadFailed as failed:
        return execution.not_loaded(failed.err, failed.size)
    machine.stage(parts.keys, execution.as_loaded(), cached, moment.slot)
    try:
        for lookup in parts.lookups:
            machine.stage([lookup.table], [cached(lookup.table)], cached, moment.slot)
        # The VM itself knows neither older rules nor the settings of version 1.
        machine.set_limits(budget.units, budget.heap)
        form = vm_form(parts, moment.previous_blockhash)
        result = machine.run(form.transaction, whole_logs=bool(form.stand_ins))
    finally:
        machine.unstage()
    if not isinstance(result, FailedTransactionMetadata):
        return execution.success(result, size, form.stand_ins)
    err = _failed(result.to_json()).err
    if isinstance(err, str):
        if err in LOAD_ERRORS:
            return execution.not_loaded(err, size)
        if err not in _RUN_ERRORS:
            # The VM's own checks, which may be stricter than those before it.
            return refused(err, parts.keys)
    return execution.failure(err, result.meta(), size, form.stand_ins)


class _AccountCache:
    """The caller's accounts, each loaded once; the engine's own if the caller has none."""

    def __init__(self, machine: Machine, load: Load) -> None:
        self._machine = machine
        self._load = load
        self._accounts: dict[Pubkey, Account | None] = {}

    def __call__(self, key: Pubkey) -> Account | None:
        accounts = self._accounts
        if key in accounts:
            return accounts[key]
        account = self._load(key)
        if account is None and key != addresses.INSTRUCTIONS:
            account = self._machine.own(key)
        if account is not None and account.lamports == 0:
            account = None  # also where the engine has one
        accounts[key] = account
        return account


class _Execution:
    """The execution of a transaction that passed the checks; makes its outcome."""

    def __init__(
        self,
        parts: Parts,
        accounts: Accounts,
        budget: Budget,
        nonce: Nonce | None,
        cached: _AccountCache,
        machine: Machine,
    ) -> None:
        self._parts = parts
        self._accounts = accounts
        self._fee = budget.fee
        # The VM takes no priority fee that stands in the message.
        self._taken = budget.priority_fee if parts.version == 1 else 0
        self._nonce = nonce
        self._cached = cached
        self._rent_minimum = machine.rent_minimum
        self._rules = machine.rules
        self._called = {each.program_index for each in parts.instructions}
        self._holds_tokens = any(program in parts.keys for program in TOKEN_PROGRAMS)

    def as_loaded(self) -> Accounts:
        """The accounts for the VM."""
        minimum = self._rent_minimum
        is_writable = self._parts.is_writable
        accounts = [
            exempt(account, minimum(len(account.data)))
            if account is not None and account.rent_epoch != U64_MAX and is_writable(index)
            else account
            for index, account in enumerate(self._accounts)
        ]
        payer = accounts[0]
        if self._taken and payer is not None:
            accounts[0] = with_lamports(payer, payer.lamports - self._taken)
        return accounts

    def success(
        self, result: SimulatedTransactionInfo, size: int, stand_ins: frozenset[int]
    ) -> Outcome:
        meta = result.meta()
        writes = writes_of_success(self._parts, result, self._accounts, self._called)
        charged = meta.fee() + self._taken
        if charged != self._fee:
            # The VM charged the current fee where an older rule applies.
            payer = self._parts.keys[0]
            writes[payer] = with_lamports(
                writes[payer], writes[payer].lamports + charged - self._fee
            )
        return self._outcome(None, meta, writes, size, stand_ins)

    def failure(
        self, err: Any, meta: TransactionMetadata, size: int, stand_ins: frozenset[int]
    ) -> Outcome:
        return self._outcome(err, meta, self._rolled_back(), size, stand_ins)

    def not_loaded(self, err: str, size: int) -> Outcome:
        """Does not run, but pays; `size` is what was loaded, up to the limit."""
        if not self._rules.loading_is_paid:
            return refused(err, self._parts.keys)
        writes = self._rolled_back()
        if not self._rules.fees_only_size:
            size = sum(len(account.data) for account in writes.values())
        return self._outcome(err, None, writes, size)

    def _rolled_back(self) -> dict[Pubkey, Account]:
        payer = self._accounts[0]
        minimum = self._rent_minimum(len(payer.data)) if payer is not None else 0
        return writes_of_failure(self._parts, self._accounts, self._fee, self._nonce, minimum)

    def _outcome(
        self,
        err: Any,
        meta: TransactionMetadata | None,
        writes: dict[Pubkey, Account],
        size: int,
        stand_ins: frozenset[int] = frozenset(),
    ) -> Outcome:
        parts, before = self._parts, self._accounts
        after = [writes.get(key, held) for key, held in zip(parts.keys, before, strict=True)]
        units = meta.compute_units_consumed() if meta is not None else 0
        logs = meta.logs() if meta is not None else []
        if stand_ins:
            logs = original_logs(parts, stand_ins, logs)
        return Outcome(
            err=err,
            charged=True,
            fee=self._fee,
            units_consumed=units,
            logs=logs,
            inner_instructions=inner_instructions(meta) if meta is not None else [],
            return_data=return_data(meta) if meta is not None else None,
            loaded_accounts_data_size=size,
            keys=parts.keys,
            loaded_writable=parts.loaded_writable,
            loaded_readonly=parts.loaded_readonly,
            pre_balances=[held.lamports if held is not None else 0 for held in before],
            post_balances=[held.lamports if held is not None else 0 for held in after],
            pre_token_balances=self._token_balances(before, {}),
            post_token_balances=self._token_balances(after, writes),
            writes=writes,
            executed=meta is not None,
            cost_units=cost_units(parts, units, size),
        )

    def _token_balances(
        self, accounts: Accounts, writes: dict[Pubkey, Account]
    ) -> list[dict[str, Any]]:
        if not self._holds_tokens:
            return []

        def load(key: Pubkey) -> Account | None:
            written = writes.get(key)
            return written if written is not None else self._cached(key)

        return token_balances(self._parts.keys, accounts, self._called, load)
