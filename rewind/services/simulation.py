"""simulateHistoricalTransaction: the outcome at a past position, and how far it is proved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b64encode
from historical.services.recorded_transactions import RecordedTransaction, recorded
from rewind.errors import (
    AccountsTooLarge,
    FilteredAccountStale,
    StateNotRecorded,
    WritesIncomplete,
)
from rewind.positions import Asked, Position
from rewind.results.completeness import Completeness
from rewind.results.coverage import GapEntry
from rewind.results.simulation import AccountAfter, OwnPlace, Place, SimulatedTransaction
from rewind.services import comparing
from rewind.services.completeness import Findings
from rewind.services.overrides import Override, given_accounts, without_effect_on
from rewind.services.past_state import Past, past
from rewind.services.prefetching import ReaderAhead
from rewind.services.replay import (
    BEHIND_A_GAP,
    ENGINE_MISSING_RULES,
    OLDER_RULES,
    Verdict,
    is_before_faithful_slots,
    missing_rules,
    replay,
    verdict_of,
)
from rewind.services.running import Accounts, engine_errors, run_on
from simulator.missing_rules import MissingRule
from simulator.outcome import Outcome
from simulator.required_accounts import read_keys

Inapplicable = Literal["another_position", "overrides"]
# Why a run that is as the record says is not proved all the same.
_REASONS = {
    "gap": BEHIND_A_GAP,
    "last_writes_only": WritesIncomplete.reason,
    "not_recorded": StateNotRecorded.reason,
    "filtered": FilteredAccountStale.reason,
}
# As much as a transaction may load; only who names an account twice asks for more.
_MOST_BYTES = 64 * 1_048_576


@dataclass(frozen=True, slots=True)
class Asking:
    """A simulation as a caller asks for it. `accounts` are returned as the run left them;
    `override_loads` name slots at whose end an account is taken instead. What is altered must be
    something that the transaction reads, unless it `is_shared` with other transactions.
    """

    transaction: VersionedTransaction
    asked: Asked
    pre_state_slot: int | None = None
    inner_instructions: bool = False
    accounts: tuple[Pubkey, ...] | None = None
    tolerate_gaps: bool = False
    overrides: Mapping[Pubkey, Override] = field(default_factory=dict)
    override_loads: Mapping[Pubkey, int] = field(default_factory=dict)
    is_shared: bool = False

    @property
    def is_altered(self) -> bool:
        return bool(self.overrides or self.override_loads)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a transaction did, the slot it ran in, and what the answer rests on. `outcome` has what
    the answer leaves out: fee and balances. The engine does not have the `missing_rules`.
    """

    value: SimulatedTransaction
    outcome: Outcome
    gap: GapEntry | None
    completeness: Completeness
    missing_rules: tuple[MissingRule, ...]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A verdict on a run, or `why` there is none: `verdict` is then that of its own place. `same`
    is the transaction as the ledger has it.
    """

    verdict: Verdict | None
    same: RecordedTransaction | None = None
    why: Inapplicable | None = None

    def members(self) -> dict[str, Any]:
        """The members of the answer."""
        own = None if self.verdict is None else _members_of(self.verdict)
        place = None
        if self.same is not None:
            place = Place(slot=self.same.slot, transaction_index=self.same.index)
        if self.why is None and own is not None:
            return {**own, "fidelity_at": place, "own_place": None}
        return {
            "fidelity": "not_applicable",
            "fidelity_fields": [],
            "fidelity_reason": self.why,
            "fidelity_at": place,
            "own_place": None if own is None else OwnPlace(**own),
        }


def _members_of(verdict: Verdict) -> dict[str, Any]:
    return {
        "fidelity": verdict.status,
        "fidelity_fields": list(dict.fromkeys(each.field for each in verdict.differences)),
        "fidelity_reason": verdict.reason,
    }


def simulate_historical(asking: Asking, *, timeout_seconds: float = 10.0) -> Simulated:
    """Raises what a position can be refused for (rewind/services/past_state.py), BadOverride,
    OverrideWithoutEffect, EngineFailed and SimulationTimedOut.
    """
    same = _same_in_ledger(asking.transaction)
    there = past(
        asking.asked,
        tolerate_gaps=asking.tolerate_gaps,
        pre_state_slot=asking.pre_state_slot,
        reader=ReaderAhead([asking.transaction], same),
    )
    if same is None or asking.is_altered or not _is_own_place(there, same):
        outcome, accounts = _run(asking, there, timeout_seconds)
        asking = _noticed(asking, accounts)
        is_missing = bool(missing_rules(there, accounts))
        fidelity = _elsewhere(asking, there, same, timeout_seconds, is_missing=is_missing)
        # Sysvars are read whether they are overridden or not.
        given = {bytes(key) for key, override in asking.overrides.items() if override.is_whole}
        findings = there.findings.without(given) if given else there.findings
        return _answer(asking, there, outcome, accounts, fidelity, findings)
    # A position with a tolerated gap proves nothing: replay resolves it again.
    known = None if asking.tolerate_gaps else there
    replayed = replay(same, there=known, timeout_seconds=timeout_seconds)
    if replayed.outcome is None:
        outcome, accounts = _run(asking, there, timeout_seconds)
        fidelity = Fidelity(replayed.verdict, same)
        return _answer(asking, there, outcome, accounts, fidelity, there.findings)
    verdict, findings = replayed.verdict, replayed.findings
    if verdict.status == "verified":
        findings = _unproved(asking, same, replayed.outcome, findings)
        causes = findings.completeness().causes
        if causes:
            verdict = Verdict("unverified", reason=_REASONS[causes[0].cause])
    fidelity = Fidelity(verdict, same)
    return _answer(asking, there, replayed.outcome, replayed.accounts, fidelity, findings)


def _run(asking: Asking, there: Past, timeout_seconds: float) -> tuple[Outcome, Accounts]:
    given = given_accounts(there, asking.overrides, asking.override_loads)
    with engine_errors(timeout_seconds, given):
        outcomes, accounts = run_on(
            there, [asking.transaction], given=given, timeout_seconds=timeout_seconds
        )
    return outcomes[0], accounts


def _noticed(asking: Asking, accounts: Accounts) -> Asking:
    """The same without what the transaction took no notice of, which is refused unless the
    overrides are meant for others too. Raises OverrideWithoutEffect.
    """
    read = read_keys([asking.transaction], accounts)
    idle = list(without_effect_on(read, asking.overrides, asking.override_loads))
    if not idle:
        return asking
    if not asking.is_shared:
        raise idle[0]
    keys = {refusal.pubkey for refusal in idle}
    return replace(
        asking,
        overrides={key: each for key, each in asking.overrides.items() if key not in keys},
        override_loads={key: at for key, at in asking.override_loads.items() if key not in keys},
    )


def _same_in_ledger(transaction: VersionedTransaction) -> RecordedTransaction | None:
    """The chain's transaction of that signature, if it is this one to the last byte: signatures
    are not verified, and one may be copied onto another message.
    """
    found = recorded(transaction.signatures[0])
    return found if found is not None and found.transaction == transaction else None


def _is_own_place(there: Past, same: RecordedTransaction) -> bool:
    return there.resolved.position == Position.before(same.slot, same.index)


def _elsewhere(
    asking: Asking,
    there: Past,
    same: RecordedTransaction | None,
    timeout_seconds: float,
    *,
    is_missing: bool,
) -> Fidelity:
    """Of a run that no record can be held against; `is_missing`: the engine has not all rules."""
    own = None
    if same is not None:
        own = verdict_of(same, layout=there.query.layout, timeout_seconds=timeout_seconds)
    elif not asking.is_altered:
        reason = ENGINE_MISSING_RULES if is_missing else "not_in_ledger"
        if is_before_faithful_slots(there.slot):
            reason = OLDER_RULES
        return Fidelity(Verdict("unverified", reason=reason))
    if same is not None and not asking.is_altered and _is_own_place(there, same):
        return Fidelity(own, same)  # its overrides were meant for others of the job
    why: Inapplicable = "overrides" if asking.is_altered else "another_position"
    return Fidelity(own, same, why)


def _unproved(
    asking: Asking, same: RecordedTransaction, outcome: Outcome, findings: Findings
) -> Findings:
    """What the record does not prove of a run that is as it says: accounts that are shown as they
    were found, and all of it where the record is short.
    """
    if not comparing.is_full(same.meta or {}):
        return findings
    shown = {bytes(key) for key in asking.accounts or () if key not in outcome.writes}
    return findings.among(shown)


def _answer(
    asking: Asking,
    there: Past,
    outcome: Outcome,
    accounts: Accounts,
    fidelity: Fidelity,
    findings: Findings,
) -> Simulated:
    value = _value(asking, there, outcome, accounts, fidelity)
    return Simulated(
        value=value,
        outcome=outcome,
        gap=findings.gap(),
        completeness=findings.completeness(),
        missing_rules=missing_rules(there, accounts),
    )


def _value(
    asking: Asking, there: Past, outcome: Outcome, accounts: Accounts, fidelity: Fidelity
) -> SimulatedTransaction:
    return SimulatedTransaction(
        err=outcome.err,
        logs=outcome.logs,
        accounts=None if asking.accounts is None else _afterwards(asking, outcome, accounts),
        units_consumed=outcome.units_consumed,
        return_data=outcome.return_data,
        inner_instructions=outcome.inner_instructions if asking.inner_instructions else None,
        rewind_slot=there.slot,
        rewind_load_slot=there.load_slot,
        rewind_overridden_accounts=[str(key) for key in asking.overrides],
        rewind_override_loads={str(key): slot for key, slot in asking.override_loads.items()},
        **fidelity.members(),
    )


def _afterwards(asking: Asking, outcome: Outcome, accounts: Accounts) -> list[AccountAfter | None]:
    """The accounts that are asked for, as they are when it has run: None for what it did not load,
    and for all where it failed, as the standard node answers.
    """
    asked = asking.accounts or ()
    if outcome.err is not None:
        return [None] * len(asked)
    loaded = set(outcome.keys)
    found = [
        outcome.writes.get(key) or accounts.get(key) if key in loaded else None for key in asked
    ]
    size = sum(len(account.data) for account in found if account is not None)
    if size > _MOST_BYTES:
        raise AccountsTooLarge(size, _MOST_BYTES)
    return [_after(account) for account in found]


def _after(account: Account | None) -> AccountAfter | None:
    if account is None or account.lamports == 0:
        return None
    data = account.data
    return AccountAfter(
        lamports=account.lamports,
        owner=str(account.owner),
        data=[b64encode(data), "base64"],
        executable=account.executable,
        rent_epoch=account.rent_epoch,
        space=len(data),
    )
