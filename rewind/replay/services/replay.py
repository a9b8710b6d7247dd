"""Replays a recorded transaction at its position, and compares the outcome with the chain's."""

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from chain.units import Slot
from historical.transactions.services.recorded_transactions import RecordedTransaction
from jsonrpc.errors import RpcError
from rewind.accounts.services import absence, seeding
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.loading import account_of
from rewind.accounts.store import replaying as store
from rewind.accounts.store.prefetching import newest
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.errors import FilteredAccountStale, StateNotRecorded
from rewind.positions import Asked, Position
from rewind.recording.services.filters import MAINNET_GENESIS_HASH
from rewind.replay.services import builds, comparing
from rewind.replay.services.past_state import Past, past
from rewind.replay.services.prefetching import ReaderAhead
from rewind.replay.services.running import Accounts, run_on
from simulator.errors import EngineFault, EngineTimeout
from simulator.missing_rules import MissingRule, missing_accounts
from simulator.outcome import Outcome
from simulator.token_balances import held_mint

Status = Literal["verified", "diverged", "unverified"]

# Mainnet's first slot whose rules the engine still has, all of them (docs/decisions/replay.md).
FAITHFUL_FROM = 381_888_000
OLDER_RULES = "engine_older_rules"
ENGINE_MISSING_RULES = "engine_missing_rules"
PROGRAM_BUILD_UNKNOWN = "program_build_unknown"
BEHIND_A_GAP = "behind_a_gap"
_LONGEST_TEXT = 600
_MOST_VERIFIED = 10_000
_verified: set[tuple[bytes, int]] = set()


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which the replay differs from the record; JSON values, long ones cut."""

    field: str
    expected: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replay came to. `reason` says why it could not be compared, or why the engine may
    differ.
    """

    status: Status
    differences: tuple[Difference, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A verdict with the run that it is about, None where nothing ran, and what is not known of the
    state that it ran on.
    """

    verdict: Verdict
    outcome: Outcome | None = None
    accounts: Accounts = field(default_factory=dict, repr=False)
    findings: Findings = field(default_factory=Findings, repr=False)


def replay(
    recorded: RecordedTransaction, *, there: Past | None = None, timeout_seconds: float = 10.0
) -> Replayed:
    """The transaction on the state that it read, compared with what the ledger says became of it
    and with the accounts that the archive has right after it. `there` is its own place, from a
    caller who has it already.
    """
    if recorded.meta is None:
        return _unverified("no_meta")
    try:
        there = there or own_place(recorded)
        balances = comparing.balances_before(recorded.transaction, recorded.meta)
        empty = frozenset(key for key, lamports in balances.items() if lamports == 0)
        there = there.fresh(empty=empty, balances=balances, tolerate_gaps=False)
        outcome, accounts, found = _compared(recorded, there, timeout_seconds)
        old = _behind_a_gap(there) if found else []
        if old and seeding.seed(old, there.resolved):
            # The node's state of them holds from behind the gap on.
            there = _with_new_rows(there)
            outcome, accounts, found = _compared(recorded, there, timeout_seconds)
            old = _behind_a_gap(there) if found else []
    except StateNotRecorded as refusal:
        called = comparing.called_programs(recorded.transaction, recorded.meta)
        is_build = refusal.pubkeys <= builds.with_code(called)
        return _unverified(PROGRAM_BUILD_UNKNOWN if is_build else refusal.reason)
    except RpcError as refusal:
        return _unverified(refusal.reason)
    except EngineTimeout:
        return _unverified("simulation_timeout")
    except EngineFault:
        return _unverified("engine_fault")
    if old:
        verdict = Verdict("unverified", reason=BEHIND_A_GAP)
        return Replayed(verdict, outcome, accounts, there.findings)
    if found and there.stale_sysvars:
        # A program may read a sysvar that its transaction does not name.
        verdict = Verdict("unverified", reason=FilteredAccountStale.reason)
        return Replayed(verdict, outcome, accounts, there.findings)
    # In mainnet's older slots every difference has a reason of its own.
    if found and there.is_partly_assumed and not is_before_faithful_slots(recorded.slot):
        verdict = Verdict("unverified", reason=StateNotRecorded.reason)
        return Replayed(verdict, outcome, accounts, there.findings)
    differences = tuple(Difference(name, _cut(a), _cut(b)) for name, a, b in found)
    missing = missing_rules(there, accounts)
    if missing and not differences and not comparing.is_full(recorded.meta):
        # What the record leaves out may be what the missing rule changes.
        verdict = Verdict("unverified", reason=ENGINE_MISSING_RULES)
        return Replayed(verdict, outcome, accounts, there.findings)
    reason = _why_it_may_differ(recorded, there, missing) if differences else None
    verdict = Verdict("diverged" if differences else "verified", differences, reason)
    return Replayed(verdict, outcome, accounts, there.findings)


def missing_rules(there: Past, accounts: Accounts) -> tuple[MissingRule, ...]:
    """What the engine is without: rules of the slot, and accounts that a run found there."""
    return (*there.missing, *missing_accounts(accounts))


def own_place(recorded: RecordedTransaction) -> Past:
    """Where it stood, with all that its replay reads. Raises what `past` raises."""
    asked = Asked(slot=recorded.slot, index=recorded.index, after=False)
    return past(asked, reader=ReaderAhead([recorded.transaction], recorded))


def verdict_of(
    recorded: RecordedTransaction, *, layout: int, timeout_seconds: float = 10.0
) -> Verdict:
    """The verdict of `replay`, which runs nothing again that was verified once: neither a record
    nor a state that is known ever changes. `layout` is the archive's.
    """
    key = bytes(recorded.signature), layout
    if key in _verified:
        return Verdict("verified")
    verdict = replay(recorded, timeout_seconds=timeout_seconds).verdict
    if verdict.status == "verified":
        if len(_verified) >= _MOST_VERIFIED:
            _verified.clear()
        _verified.add(key)
    return verdict


def forget_verdicts() -> None:
    """What was verified is run again."""
    _verified.clear()


def is_before_faithful_slots(slot: Slot) -> bool:
    """Whether the engine has not all of the slot's rules: a matter of mainnet's history."""
    return slot < FAITHFUL_FROM and store.chain_of_filters() == MAINNET_GENESIS_HASH


def _why_it_may_differ(
    recorded: RecordedTransaction, there: Past, missing: tuple[MissingRule, ...]
) -> str | None:
    """What is known to be amiss: rules that the engine does not have, and in mainnet's older slots
    a program's build, else the rules.
    """
    if not is_before_faithful_slots(recorded.slot):
        return ENGINE_MISSING_RULES if missing else None
    called = comparing.called_programs(recorded.transaction, recorded.meta or {})
    return PROGRAM_BUILD_UNKNOWN if builds.unknown_among(called, there.resolved) else OLDER_RULES


def _has_unknown_mint(accounts: Accounts) -> bool:
    """Whether a token account's decimals are not known: its balance is then left out."""
    mints = (held_mint(account) for account in accounts.values() if account is not None)
    return any(mint is not None and accounts.get(mint) is None for mint in mints)


def _compared(
    recorded: RecordedTransaction, there: Past, timeout_seconds: float
) -> tuple[Outcome, Accounts, list[tuple[str, Any, Any]]]:
    """What it does there, the accounts that it found, and all that differs from the record."""
    (outcome,), accounts = run_on(there, [recorded.transaction], timeout_seconds=timeout_seconds)
    meta = recorded.meta or {}
    if _has_unknown_mint(accounts):
        meta = {name: value for name, value in meta.items() if name not in comparing.TOKEN_BALANCES}
    found = [
        *comparing.meta_differences(meta, outcome.meta()),
        *_account_differences(recorded, there, outcome),
    ]
    return outcome, accounts, found


def _behind_a_gap(there: Past) -> list[bytes]:
    """Accounts whose state is older than missing slots: they may have been written there."""
    return [*there.findings.gaps, *there.found_of_mints.gaps]


def _with_new_rows(there: Past) -> Past:
    """A row may have come in a partition of its own."""
    layout = look_up_slot(there.resolved.slot).layout
    return there.fresh(
        resolved=replace(there.resolved, layout=layout, ahead=None),
        query=replace(there.query, layout=layout, ahead=None),
    )


def _unverified(reason: str) -> Replayed:
    return Replayed(Verdict("unverified", reason=reason))


def _account_differences(
    recorded: RecordedTransaction, there: Past, outcome: Outcome
) -> list[tuple[str, Any, Any]]:
    """What the archive has of the accounts that the replay wrote. Of a coarse slot only rows of
    this very transaction say something.
    """
    resolved = there.query
    position = Position(recorded.slot, recorded.index)
    keys = {bytes(key): key for key in outcome.writes}
    states = newest(list(keys), position, resolved.layout, resolved.ahead)
    stale = absence.stale_among(keys, states, replace(resolved, position=position))
    differing: list[tuple[str, Any, Any]] = []
    for key, pubkey in keys.items():
        state = states.get(key)
        if key in stale or (resolved.is_coarse and (state is None or state[1:3] != position)):
            continue
        expected, found = account_of(state), outcome.writes[pubkey]
        wanted, got = comparing.account_form(expected), comparing.account_form(found)
        if wanted != got:
            differing.append(
                ("accounts", {"pubkey": str(pubkey), **wanted}, {"pubkey": str(pubkey), **got})
            )
    return differing


def _cut(value: Any) -> Any:
    """The value, or the beginning of its JSON where that is long."""
    text = json.dumps(value, separators=(",", ":"))
    return value if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
