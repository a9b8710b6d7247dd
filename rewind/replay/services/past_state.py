"""The chain at a position: its accounts, and the moment in which a transaction runs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import SLOTS_PER_EPOCH, Slot
from historical.transactions.services import recorded_transactions
from rewind.accounts.services.builtins_and_sysvars import recorded_natives
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.loading import accounts_at, recorded_accounts
from rewind.accounts.services.position_lookup import Reader, ResolvedPosition, resolve_position
from rewind.accounts.store import replaying as store
from rewind.errors import FilteredAccountStale, PreStateTooNew, StateNotRecorded
from rewind.positions import Asked, Position
from rewind.replay.services import builds
from rewind.replay.services.features import features_at
from simulator import defaults
from simulator.effects import with_lamports
from simulator.machine import CACHED_SYSVARS
from simulator.missing_rules import MissingRule
from simulator.moment import Moment


@dataclass(frozen=True, slots=True)
class Past:
    """A position, resolved and checked. `slot` is the one that a transaction runs in, `load_slot`
    that of the accounts it finds. `sysvars` are those of the slot's beginning, None where the
    archive has none or (`stale_sysvars`) none of that time. `empty` are accounts that are known
    not to be there, `balances` lamports that are known of accounts. Where the archive has no build
    of a program of that time, the operator's shelf has the word (rewind/replay/services/builds.py).
    `findings` say what is not known of all that was read, but for mints, which only show in token
    balances. `missing` are features that were on in the slot and that the engine does not have.
    Unless `features_are_known`, mainnet's stand in for those without a record.
    """

    slot: Slot
    load_slot: Slot
    moment: Moment
    sysvars: dict[Pubkey, Account | None]
    stale_sysvars: frozenset[Pubkey]
    resolved: ResolvedPosition
    query: ResolvedPosition
    tolerate_gaps: bool
    findings: Findings
    found_of_sysvars: Findings
    found_of_mints: Findings = field(default_factory=Findings)
    missing: tuple[MissingRule, ...] = ()
    features_are_known: bool = True
    empty: frozenset[Pubkey] = frozenset()
    balances: Mapping[Pubkey, int] = field(default_factory=dict)

    def fresh(self, **changes: Any) -> "Past":
        """The same with some parts changed; only its sysvars were read yet."""
        return replace(
            self,
            findings=self.found_of_sysvars.copy(),
            found_of_mints=Findings(),
            **changes,
        )

    def load(self, keys: Collection[Pubkey]) -> dict[Pubkey, Account | None]:
        """Accounts as a transaction finds them here; raises WritesIncomplete, StateNotRecorded,
        FilteredAccountStale.
        """
        known = builds.shelved(keys, self.resolved, self.balances)
        try:
            found = self._at(self.resolved, [key for key in keys if key not in known])
        except StateNotRecorded as refusal:
            later = builds.deployed_before(refusal.pubkeys, self.resolved)
            if not later:
                raise
            known.update(later)
            found = self._at(self.resolved, [key for key in keys if key not in known])
        return {**found, **known}

    def load_tables(self, keys: Collection[Pubkey]) -> dict[Pubkey, Account | None]:
        """The same of lookup tables, which are always those of the slot it runs in."""
        return self._at(self.query, keys)

    def load_mints(self, keys: Collection[Pubkey]) -> dict[Pubkey, Account | None]:
        """Mints that no transaction loads, for their decimals, which never change: as far as they
        are known.
        """
        return recorded_accounts(keys, self.resolved, self.found_of_mints)[0]

    def load_natives(self, keys: Collection[Pubkey]) -> dict[Pubkey, Account | None]:
        """Builtins and sysvars, None for those that the engine's own must stand in for; raises
        FilteredAccountStale.
        """
        stale = [key for key in keys if key in self.stale_sysvars]
        if stale:
            raise FilteredAccountStale(stale)
        known = {key: self.sysvars[key] for key in keys if key in self.sysvars}
        missing = [key for key in keys if key not in known]
        found, unfollowed = recorded_natives(missing, _at_start(self.query), self.findings)
        if unfollowed:
            raise FilteredAccountStale(list(unfollowed))
        return {**known, **found}

    def stand_ins(self, keys: Collection[Pubkey]) -> dict[Pubkey, Account]:
        """The engine's own builtins and sysvars with the lamports that are known of them."""
        if not keys:
            return {}
        own = {**defaults.builtins(), **defaults.sysvars()}
        return {
            key: with_lamports(own[key], self.balances[key])
            for key in keys
            if key in own and key in self.balances
        }

    @property
    def is_partly_assumed(self) -> bool:
        """Whether sysvars or features of another chain may have stood in for what was never
        recorded. Of builtins only the balance can be another.
        """
        builtins = {bytes(key) for key in addresses.BUILTINS}
        return not (self.features_are_known and self.findings.not_recorded.keys() <= builtins)

    def _at(
        self, resolved: ResolvedPosition, keys: Collection[Pubkey]
    ) -> dict[Pubkey, Account | None]:
        return accounts_at(
            keys,
            resolved,
            tolerate_gaps=self.tolerate_gaps,
            empty=self.empty,
            findings=self.findings,
        )


def past(
    asked: Asked,
    *,
    tolerate_gaps: bool = False,
    pre_state_slot: int | None = None,
    reader: Reader | None = None,
) -> Past:
    """The position that a caller asks for. Raises PreStateTooNew, what `resolve_position` does, and
    StateNotRecorded where the slot's clock is not known.

    `pre_state_slot` is where accounts are loaded instead, at its end; it says nothing where the
    position is that of a transaction. A `reader` may read ahead what is going to be asked there.
    """
    in_slot_mode = asked.signature is None and asked.index is None
    if pre_state_slot is None or not in_slot_mode:
        query = resolved = resolve_position(asked, tolerate_gaps=tolerate_gaps, reader=reader)
    else:
        if asked.slot is not None and pre_state_slot > asked.slot:
            raise PreStateTooNew(pre_state_slot, asked.slot)
        # Both are within the window before either is in a gap: so the interface orders errors.
        query = resolve_position(asked, tolerate_gaps=True)
        resolved = resolve_position(Asked(slot=pre_state_slot), tolerate_gaps=tolerate_gaps)
        if not tolerate_gaps:
            resolve_position(asked)
    findings = Findings()
    sysvars, stale = _sysvars(query, findings)
    clock = sysvars[addresses.CLOCK]
    if clock is None and not tolerate_gaps:
        raise StateNotRecorded(query.slot, query.earliest, [addresses.CLOCK])
    active = features_at(query, epoch=_epoch(query.slot, clock))
    return Past(
        slot=query.slot,
        load_slot=resolved.slot,
        moment=Moment(
            slot=query.slot,
            previous_blockhash=_previous_blockhash(query, sysvars),
            features=active.features,
        ),
        sysvars=sysvars,
        stale_sysvars=stale,
        resolved=resolved,
        query=query,
        tolerate_gaps=tolerate_gaps,
        findings=findings,
        found_of_sysvars=findings.copy(),
        missing=active.missing,
        features_are_known=active.are_known,
    )


def _at_start(resolved: ResolvedPosition) -> ResolvedPosition:
    return replace(resolved, position=Position.start_of(resolved.slot))


def _sysvars(
    query: ResolvedPosition, findings: Findings
) -> tuple[dict[Pubkey, Account | None], frozenset[Pubkey]]:
    """What the slot's transactions see, wherever in the slot the position is: of all sysvars only
    the recent blockhashes change once they have begun to run.
    """
    found, stale = recorded_natives(CACHED_SYSVARS, _at_start(query), findings)
    at_end = [key for key in CACHED_SYSVARS if found[key] is None and key not in stale]
    if query.is_coarse:
        # Where the order of writes is not known, what the slot began with stands at its end.
        at_end += [key for key in CACHED_SYSVARS if key != addresses.RECENT_BLOCKHASHES]
    if at_end:
        # A snapshot of this very slot has them at its end too.
        later, stale_later = recorded_natives(
            at_end, replace(query, position=Position.end_of(query.slot)), findings
        )
        found.update({key: account for key, account in later.items() if account is not None})
        stale |= stale_later
    return {key: None if key in stale else account for key, account in found.items()}, stale


def _epoch(slot: Slot, clock: Account | None) -> int:
    if clock is None:
        return slot // SLOTS_PER_EPOCH
    return int.from_bytes(clock.data[16:24], "little")


def _previous_blockhash(query: ResolvedPosition, sysvars: dict[Pubkey, Account | None]) -> Hash:
    """The parent's blockhash; of a slot without a block, that of the newest block before it."""
    try:
        return _of_ledger(query.slot, query.layout)
    except _NotInLedger:
        pass
    recent = sysvars[addresses.RECENT_BLOCKHASHES]
    if recent is not None and int.from_bytes(recent.data[:8], "little"):
        return Hash(recent.data[8:40])
    below = store.blockhash_below(query.slot)
    return Hash.default() if below is None else Hash(below)


class _NotInLedger(Exception):
    """The ledger has no block of the slot."""


# What a block says of its parent never changes; that there is no block may. The layout stands for
# the archive: another one may have another block in the slot.
@lru_cache(maxsize=1_024)
def _of_ledger(slot: Slot, layout: int) -> Hash:
    block = recorded_transactions.block_of(slot)
    if block is None:
        raise _NotInLedger
    return block.previous_blockhash
