"""simulateHistoricalTransaction: the outcome at a past position, and how far it is proved."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.account_json import AccountEncoding, Loader, account_json
from chain.units import U64_MAX
from gaps.coverage import GapEntry
from historical.transactions.services.recorded_transactions import RecordedTransaction, recorded
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services.completeness import Findings
from rewind.errors import (
    AccountsTooLarge,
    FilteredAccountStale,
    StateNotRecorded,
    WritesIncomplete,
)
from rewind.positions import Asked, Position
from rewind.replay.results.simulation import AccountAfter, OwnPlace, Place, SimulatedTransaction
from rewind.replay.services import comparing
from rewind.replay.services.overrides import Override, given_accounts, without_effect_on
from rewind.replay.services.past_state import Past, past
from rewind.replay.services.prefetching import ReaderAhead
from rewind.replay.services.replay import (
    BEHIND_A_GAP,
    ENGINE_MISSING_RULES,
    OLDER_RULES,
    Verdict,
    is_before_faithful_slots,
    missing_rules,
    replay,
    verdict_of,
)
from rewind.replay.services.running import Accounts, engine_errors, run_on
from simulator.missing_rules import MissingRule
from simulator.outcome import Outcome
from simulator.required_accounts import read_keys
from simulator.token_balances import held_mint

Inapplicable = Literal["another_position", "overrides"]
# Why a run that is as the record says is not proved all the same.
_REASONS = {
    "gap": BEHIND_A_GAP,
    "last_writes_only": WritesIncomplete.reason,
    "not_recorded": StateNotRecorded.reason,
    "filtered": FilteredAccountStale.reason,
}
# As much as a transaction may load.
_MOST_BYTES = 64 * 1_048_576
_NATIVE = addresses.BUILTINS | addresses.SYSVARS
# A node loads this where a transaction names an account that does not exist.
_EMPTY = Account(0, b"", addresses.SYSTEM, False, U64_MAX)


@dataclass(frozen=True, slots=True)
class Shown:
    """Accounts to be shown as they are when the transaction has run, and how their data is
    written: not in base58.
    """

    addresses: tuple[Pubkey, ...]
    encoding: AccountEncoding = AccountEncoding.BASE64


@dataclass(frozen=True, slots=True)
class Asking:
    """A simulation as a caller asks for it. `shown` are returned as the run left them;
    `override_loads` name slots at whose end an account is taken instead. What is altered must be
    something that the transaction reads, unless it `is_shared` with other transactions.
    """

    transaction: VersionedTransaction
    asked: Asked
    pre_state_slot: int | None = None
    inner_instructions: bool = False
    shown: Shown | None = None
    tolerate_gaps: bool = False
    overrides: Mapping[Pubkey, Override] = field(default_factory=dict)
    override_loads: Mapping[Pubkey, int] = field(default_factory=dict)
    is_shared: bool = False

    @property
    def shown_keys(self) -> tuple[Pubkey, ...]:
        return () if self.shown is None else self.shown.addresses

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
    """Raises what a position can be refused for (replay/services/past_state.py), BadOverride,
    OverrideWithoutEffect, EngineFailed and SimulationTimedOut.
    """
    same = _same_in_ledger(asking.transaction)
    there = past(
        asking.asked,
        tolerate_gaps=asking.tolerate_gaps,
        pre_state_slot=asking.pre_state_slot,
        reader=ReaderAhead([asking.transaction], same, also=asking.shown_keys),
    )
    if same is None or asking.is_altered or not _is_own_place(there, same):
        outcome, accounts = _run(asking, there, timeout_seconds)
        asking = _noticed(asking, accounts)
        is_missing = bool(missing_rules(there, accounts))
        fidelity = _elsewhere(asking, there, same, timeout_seconds, is_missing=is_missing)
        # Sysvars are read whether they are overridden or not.
        given = {bytes(key) for key, override in asking.overrides.items() if override.is_whole}
        findings = there.findings.without(given) if given else there.findings
        left = _left(asking, there, outcome, accounts)
        return _answer(asking, there, outcome, accounts, left, fidelity, findings)
    # A position with a tolerated gap proves nothing: replay resolves it again.
    known = None if asking.tolerate_gaps else there
    replayed = replay(same, there=known, timeout_seconds=timeout_seconds)
    if replayed.outcome is None:
        outcome, accounts = _run(asking, there, timeout_seconds)
        fidelity = Fidelity(replayed.verdict, same)
        left = _left(asking, there, outcome, accounts)
        return _answer(asking, there, outcome, accounts, left, fidelity, there.findings)
    verdict, findings = replayed.verdict, replayed.findings
    left = _left(asking, there, replayed.outcome, replayed.accounts)
    if verdict.status == "verified":
        findings = _unproved(asking, same, replayed.outcome, findings)
        causes = findings.joined(left.findings).completeness().causes
        if causes:
            verdict = Verdict("unverified", reason=_REASONS[causes[0].cause])
    fidelity = Fidelity(verdict, same)
    return _answer(asking, there, replayed.outcome, replayed.accounts, left, fidelity, findings)


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
    shown = {bytes(key) for key in asking.shown_keys if key not in outcome.writes}
    return findings.among(shown)


@dataclass(frozen=True, slots=True)
class _Left:
    """The accounts that are shown, and what is not known of those that the run did not load."""

    accounts: list[AccountAfter | None] | None
    findings: Findings = field(default_factory=Findings)


def _left(asking: Asking, there: Past, outcome: Outcome, accounts: Accounts) -> _Left:
    """The accounts that are asked for, as they are when it has run: what it loaded as it left that,
    also without lamports, others as they were there. None for what does not exist, and for all
    where it failed, as the standard node answers. Raises what Past.load does, AccountsTooLarge.
    """
    shown = asking.shown
    if shown is None:
        return _Left(None)
    if outcome.err is not None:
        return _Left([None] * len(shown.addresses))
    loaded, outside = set(outcome.keys), there.fresh()
    held: Accounts = {**accounts, **outcome.writes}
    held.update(_outside({key for key in shown.addresses if key not in loaded}, outside))
    found = {key: _found(key, held, is_loaded=key in loaded) for key in shown.addresses}
    if shown.encoding is AccountEncoding.JSON_PARSED:
        mints = {held_mint(account) for account in found.values() if account is not None}
        missing = [mint for mint in mints if mint is not None and held.get(mint) is None]
        held.update(outside.load_mints(missing))
    size = sum(len(each.data) for key in shown.addresses if (each := found[key]) is not None)
    if size > _MOST_BYTES:
        raise AccountsTooLarge(size, _MOST_BYTES)
    unknown = outside.findings.among({bytes(key) for key in found if key not in loaded})
    return _Left(
        [_after(key, found[key], shown.encoding, held.get) for key in shown.addresses],
        unknown.joined(outside.found_of_mints),
    )


def _outside(keys: Collection[Pubkey], there: Past) -> Accounts:
    """Accounts that the transaction does not load."""
    natives = [key for key in keys if key in _NATIVE]
    # No bank has the Instructions sysvar: it is made for each transaction that names it.
    others = [key for key in keys if key not in _NATIVE and key != addresses.INSTRUCTIONS]
    found: Accounts = {}
    if natives:
        found.update(there.load_natives(natives))
    if others:
        found.update(there.load(others))
    return found


def _found(key: Pubkey, held: Accounts, *, is_loaded: bool) -> Account | None:
    account = held.get(key)
    # The engine has natives of its own: of those nothing is known here.
    if account is None and is_loaded and key not in _NATIVE and key != addresses.INSTRUCTIONS:
        return _EMPTY
    return account


def _answer(
    asking: Asking,
    there: Past,
    outcome: Outcome,
    accounts: Accounts,
    left: _Left,
    fidelity: Fidelity,
    findings: Findings,
) -> Simulated:
    value = _value(asking, there, outcome, left, fidelity)
    findings = findings.joined(left.findings)
    return Simulated(
        value=value,
        outcome=outcome,
        gap=findings.gap(),
        completeness=findings.completeness(),
        missing_rules=missing_rules(there, accounts),
    )


def _value(
    asking: Asking, there: Past, outcome: Outcome, left: _Left, fidelity: Fidelity
) -> SimulatedTransaction:
    return SimulatedTransaction(
        err=outcome.err,
        logs=outcome.logs,
        accounts=left.accounts,
        units_consumed=outcome.units_consumed,
        return_data=outcome.return_data,
        inner_instructions=outcome.inner_instructions if asking.inner_instructions else None,
        rewind_slot=there.slot,
        rewind_load_slot=there.load_slot,
        rewind_overridden_accounts=[str(key) for key in asking.overrides],
        rewind_override_loads={str(key): slot for key, slot in asking.override_loads.items()},
        **fidelity.members(),
    )


def _after(
    key: Pubkey, account: Account | None, encoding: AccountEncoding, load: Loader
) -> AccountAfter | None:
    if account is None:
        return None
    fields = account_json(account, encoding, load=load, pubkey=key)
    return AccountAfter(
        lamports=fields["lamports"],
        owner=fields["owner"],
        data=fields["data"],
        executable=fields["executable"],
        rent_epoch=fields["rentEpoch"],
        space=fields["space"],
    )
