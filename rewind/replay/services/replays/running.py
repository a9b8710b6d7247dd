"""Runs transactions of the ledger again, one after the other, with changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b64encode
from historical.transactions.services.recorded_transactions import RecordedTransaction, recorded
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services.completeness import completeness
from rewind.errors import OverrideWithoutEffect, UnknownSignature
from rewind.explained.services.explaining import entry_of
from rewind.replay.services import comparing
from rewind.replay.services.overrides import Override, given_accounts, without_effect_on
from rewind.replay.services.past_state import Past, past
from rewind.replay.services.prefetching import ReaderAhead
from rewind.replay.services.replay import missing_rules, verdict_of
from rewind.replay.services.replays.requests import ReplayRequest, overrides_of
from rewind.replay.services.replays.results import Json, Proof, ReplayedTransaction, ReplayResult
from rewind.replay.services.running import Accounts, run_in_order
from rewind.replay.services.simulation import Asking, simulate_historical
from simulator.missing_rules import MissingRule
from simulator.outcome import Outcome
from simulator.required_accounts import read_keys

# As many as a bundle has.
MOST_TRANSACTIONS = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """A transaction of the ledger, and the same as getTransaction returns it as JSON."""

    recorded: RecordedTransaction
    entry: Json


@dataclass(frozen=True, slots=True)
class _Ran:
    """What came of a run. `outcomes` end at the first failure."""

    slot: int
    outcomes: Sequence[Outcome]
    proofs: Sequence[Proof]
    touched: Sequence[set[Pubkey]]
    completeness: Completeness
    missing: Sequence[MissingRule]


def subject_of(signature: Signature) -> Subject | None:
    """None where the ledger does not have it. Raises SealedDataDamaged."""
    found = recorded(signature)
    entry = None if found is None else entry_of(signature)
    return None if found is None or entry is None else Subject(found, entry)


def subjects_of(signatures: Sequence[Signature]) -> list[Subject]:
    """Raises UnknownSignature for one that the ledger does not have."""
    found = []
    for signature in signatures:
        subject = subject_of(signature)
        if subject is None:
            raise UnknownSignature(signature)
        found.append(subject)
    return found


def run(
    subjects: Sequence[Subject],
    request: ReplayRequest,
    *,
    code: bytes | None = None,
    timeout_seconds: float = 10.0,
) -> ReplayResult:
    """The transactions on past state with the changes, each on what those before it left. `code` is
    the other build of the program. Raises what simulateHistoricalTransaction is refused for.
    """
    first = subjects[0].recorded
    asked = request.asked(first.slot, first.index)
    overrides: dict[Pubkey, Override] = {}
    if request.is_altered:
        there = past(asked, tolerate_gaps=request.tolerate_gaps)
        overrides = overrides_of(request, there, code)
    if len(subjects) == 1:
        ran = _alone(
            Asking(
                transaction=first.transaction,
                asked=asked,
                inner_instructions=True,
                tolerate_gaps=request.tolerate_gaps,
                overrides=overrides,
            ),
            timeout_seconds,
        )
    else:
        reader = ReaderAhead([each.recorded.transaction for each in subjects])
        there = past(asked, tolerate_gaps=request.tolerate_gaps, reader=reader)
        ran = _in_order(subjects, there, overrides, timeout_seconds)
    return ReplayResult(
        slot=ran.slot,
        completeness=msgspec.to_builtins(ran.completeness, enc_hook=str),
        transactions=[_replayed(subject, ran, at) for at, subject in enumerate(subjects)],
        missing_rules=[
            {"kind": each.kind, "address": str(each.address), "name": each.name}
            for each in ran.missing
        ],
    )


def _alone(asking: Asking, timeout_seconds: float) -> _Ran:
    done = simulate_historical(asking, timeout_seconds=timeout_seconds)
    value = done.value
    own: Any = value.own_place
    if own is None:
        own = value
    proof = Proof(own.fidelity, list(own.fidelity_fields), own.fidelity_reason)
    # An override that the transaction does not load is refused.
    touched = [set(asking.overrides)]
    known = done.completeness, done.missing_rules
    return _Ran(value.rewind_slot, [done.outcome], [proof], touched, *known)


def _in_order(
    subjects: Sequence[Subject],
    there: Past,
    overrides: dict[Pubkey, Override],
    timeout_seconds: float,
) -> _Ran:
    transactions = [each.recorded.transaction for each in subjects]
    given = given_accounts(there, overrides, {})
    outcomes, accounts = run_in_order(
        there, transactions, given=given, timeout_seconds=timeout_seconds
    )
    for idle in without_effect_on(read_keys(transactions, accounts), overrides, {}):
        raise idle
    return _Ran(
        slot=there.slot,
        outcomes=outcomes,
        proofs=[_proof(each.recorded, there, timeout_seconds) for each in subjects],
        touched=[_touched(each.recorded, accounts, overrides) for each in subjects],
        completeness=completeness([there.findings, there.found_of_mints]),
        missing=missing_rules(there, accounts),
    )


def _touched(
    subject: RecordedTransaction, accounts: Accounts, overrides: dict[Pubkey, Override]
) -> set[Pubkey]:
    """Those of the overrides that the transaction can take notice of."""
    read = read_keys([subject.transaction], accounts)
    idle: list[OverrideWithoutEffect] = list(without_effect_on(read, overrides, {}))
    return overrides.keys() - {each.pubkey for each in idle}


def _proof(subject: RecordedTransaction, there: Past, timeout_seconds: float) -> Proof:
    verdict = verdict_of(subject, layout=there.query.layout, timeout_seconds=timeout_seconds)
    fields = list(dict.fromkeys(each.field for each in verdict.differences))
    return Proof(verdict.status, fields, verdict.reason)


def _replayed(subject: Subject, ran: _Ran, at: int) -> ReplayedTransaction:
    own = subject.recorded
    outcome = ran.outcomes[at] if at < len(ran.outcomes) else None
    meta = None if outcome is None else outcome.meta()
    differs: list[str] = []
    if own.meta is not None and meta is not None:
        differs = [name for name, _, _ in comparing.meta_differences(own.meta, meta)]
    return ReplayedTransaction(
        signature=str(own.signature),
        slot=own.slot,
        index=own.index,
        transaction=subject.entry["transaction"],
        wire=b64encode(bytes(own.transaction)),
        recorded=subject.entry["meta"],
        replayed=meta,
        charged=outcome is None or outcome.charged,
        differs=differs,
        touches=sorted(str(key) for key in ran.touched[at]),
        proof=ran.proofs[at],
    )
