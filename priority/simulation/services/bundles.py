"""Simulates bundles: each transaction on the state after those before it. Nothing is sent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.commitment import Commitment
from chain.units import Slot
from priority.simulation.errors import HeadMoved
from priority.simulation.services.head import read_head, recent_blockhashes
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services.completeness import completeness
from rewind.errors import StateNotRecorded
from rewind.positions import Asked
from rewind.replay.services.past_state import past
from rewind.replay.services.prefetching import ReaderAhead
from rewind.replay.services.replay import missing_rules
from rewind.replay.services.running import engine_errors, run_in_order
from simulator.client import simulate
from simulator.errors import AccountsMissing
from simulator.missing_rules import MissingRule, missing_accounts
from simulator.outcome import Outcome, refused
from simulator.required_accounts import mints_of
from upstream.http.client import Client

Accounts = dict[Pubkey, Account | None]
# Accounts that only a bundle's own writes reveal; each round is one more level.
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Bundle:
    """Transactions to try, and the accounts to be shown beside those that they need themselves.
    With `any_blockhash` their blockhashes need not be recent.
    """

    transactions: Sequence[VersionedTransaction]
    any_blockhash: bool
    shown: frozenset[Pubkey]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a bundle: outcomes up to the first failure, and the accounts that it found.
    `api_version` is the node's, None where it reports none or the past was asked;
    `completeness` of the past is what its state rests on. `missing` are rules of the chain that the
    engine does not support.
    """

    slot: Slot
    api_version: str | None
    blockhash: Hash
    last_valid_block_height: int | None
    outcomes: list[Outcome]
    found: Accounts
    missing: tuple[MissingRule, ...]
    completeness: Completeness | None = None

    def states(self) -> Iterator[tuple[Outcome, Mapping[Pubkey, Account | None], Accounts]]:
        """Each outcome with the accounts before it and those that it changed. What fails changes
        nothing: the bundle would not land.
        """
        state = dict(self.found)
        for outcome in self.outcomes:
            written = {} if outcome.err is not None else dict(outcome.writes)
            changed: Accounts = {
                key: account if account.lamports else None for key, account in written.items()
            }
            yield outcome, state, changed
            state.update(changed)


def try_now(bundle: Bundle, *, node: Client, commitment: Commitment, timeout_seconds: int) -> Tried:
    """On the newest state of the node. Raises UpstreamFailed, HeadMoved, EngineFailed,
    SimulationTimedOut.
    """
    shown = set(bundle.shown)
    for _ in range(_ROUNDS):
        head = read_head(
            bundle.transactions,
            also=shown,
            node=node,
            seconds=timeout_seconds,
            commitment=commitment,
            any_blockhash=bundle.any_blockhash,
        )
        first = min(head.processed, default=len(bundle.transactions))
        with engine_errors(timeout_seconds):
            try:
                outcomes = (
                    simulate(
                        bundle.transactions[:first],
                        head.accounts,
                        head.moment,
                        verify=False,
                        timeout_seconds=timeout_seconds,
                    )
                    if first
                    else []
                )
            except AccountsMissing as missing:
                shown.update(missing.keys)
                continue
        if head.processed and all(outcome.err is None for outcome in outcomes):
            keys = list(bundle.transactions[first].message.account_keys)
            outcomes.append(refused("AlreadyProcessed", keys))
        return Tried(
            slot=head.slot,
            api_version=head.api_version,
            blockhash=head.moment.previous_blockhash,
            last_valid_block_height=head.last_valid_block_height,
            outcomes=outcomes,
            found=head.accounts,
            missing=(*head.missing, *missing_accounts(head.accounts)),
        )
    raise HeadMoved


def try_at(bundle: Bundle, asked: Asked, *, tolerate_gaps: bool, timeout_seconds: int) -> Tried:
    """On the archive's state at a position. Raises what `past` and Past.load raise, EngineFailed,
    SimulationTimedOut.
    """
    reader = ReaderAhead(bundle.transactions, also=bundle.shown)
    then = past(asked, tolerate_gaps=tolerate_gaps, reader=reader)
    recent = recent_blockhashes(then.sysvars.get(addresses.RECENT_BLOCKHASHES))
    moment = then.moment
    if not bundle.any_blockhash:
        if not recent and not tolerate_gaps:
            raise StateNotRecorded(
                then.slot, then.resolved.earliest, [addresses.RECENT_BLOCKHASHES]
            )
        moment = replace(moment, blockhashes=frozenset(recent) if recent else None)
    outcomes, found = run_in_order(
        replace(then, moment=moment), bundle.transactions, timeout_seconds=timeout_seconds
    )
    missing = [key for key in bundle.shown if key not in found]
    natives = [key for key in missing if key in addresses.BUILTINS | addresses.SYSVARS]
    if natives:
        found.update(then.load_natives(natives))
    others = [key for key in missing if key not in natives]
    if others:
        found.update(then.load(others))
    mints = [key for key in mints_of(bundle.shown, found) if key not in found]
    if mints:
        found.update(then.load_mints(mints))
    return Tried(
        slot=then.slot,
        api_version=None,
        blockhash=moment.previous_blockhash,
        last_valid_block_height=None,
        outcomes=outcomes,
        found=found,
        missing=missing_rules(then, found),
        completeness=completeness([then.findings, then.found_of_mints]),
    )
