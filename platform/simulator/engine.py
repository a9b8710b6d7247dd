"""Engine: runs transactions as the chain would, on accounts that the caller gives."""

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from solders.account import Account
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from simulator.features import mainnet_features, rules_of
from simulator.machine import Machine
from simulator.moment import Moment
from simulator.outcome import Outcome, refused
from simulator.run import run

Loader: TypeAlias = Callable[[Pubkey], Account | None]

_MOST_MACHINES = 4
_MOST_FINGERPRINTS = 32
# Loaded code takes five to seven times its bytes; a machine with more starts anew.
_MOST_CODE_BYTES = 48 * 1024 * 1024

# Native code that panics prints its stack at great cost where this is set to anything else.
os.environ["RUST_BACKTRACE"] = "0"


class Engine:
    """A VM for each feature set. Not for two threads. Nothing that a transaction writes stays: who
    wants that applies `Outcome.writes`.

    `load` is asked for every account that a transaction needs: its keys, its lookup tables, the
    code of its programs, the mints of its token accounts, and the sysvars. Where it has no sysvar
    or builtin, the engine's own stands in.
    """

    def __init__(self) -> None:
        self._machines: OrderedDict[frozenset[Pubkey], Machine] = OrderedDict()
        self._fingerprints: OrderedDict[int, tuple[FeatureSet, frozenset[Pubkey]]] = OrderedDict()

    def execute(
        self,
        transaction: VersionedTransaction,
        *,
        load: Loader,
        moment: Moment,
        verify: bool = True,
    ) -> Outcome:
        """What the transaction does; EngineFault if that cannot be told."""
        features = moment.features or mainnet_features()
        fingerprint = self._fingerprint(features)
        machine = self._machine(features, fingerprint)
        try:
            return run(transaction, machine, load, moment, verify=verify)
        except BaseException:
            # Whatever broke off in the middle may have left something behind.
            self._machines.pop(fingerprint, None)
            raise

    def execute_bundle(
        self,
        transactions: Sequence[VersionedTransaction],
        *,
        load: Loader,
        moment: Moment,
        verify: bool = True,
    ) -> list[Outcome]:
        """What they do one after the other, each on what those before it wrote; the first failure
        is the last outcome. One that comes twice is processed already.
        """
        written: dict[Pubkey, Account] = {}

        def load_written(key: Pubkey) -> Account | None:
            account = written.get(key)
            return account if account is not None else load(key)

        outcomes = []
        signatures: set[Signature] = set()
        for transaction in transactions:
            outcome = self.execute(transaction, load=load_written, moment=moment, verify=verify)
            if not signatures.isdisjoint(transaction.signatures[:1]) and outcome.charged:
                outcome = refused("AlreadyProcessed", outcome.keys)
            outcomes.append(outcome)
            signatures.update(transaction.signatures[:1])
            if outcome.err is not None:
                break
            written.update(outcome.writes)
        return outcomes

    def _machine(self, features: FeatureSet, fingerprint: frozenset[Pubkey]) -> Machine:
        machine = self._machines.get(fingerprint)
        if machine is None or machine.residents.loaded_bytes() > _MOST_CODE_BYTES:
            machine = self._machines[fingerprint] = Machine(features, rules_of(fingerprint))
        self._machines.move_to_end(fingerprint)
        if len(self._machines) > _MOST_MACHINES:
            self._machines.popitem(last=False)
        return machine

    def _fingerprint(self, features: FeatureSet) -> frozenset[Pubkey]:
        """Which features are on: sets of the same ones share a machine."""
        known = self._fingerprints.get(id(features))
        if known is not None:
            return known[1]
        fingerprint = frozenset(features.active)
        # The set itself is kept, so that its id stays its own.
        self._fingerprints[id(features)] = features, fingerprint
        if len(self._fingerprints) > _MOST_FINGERPRINTS:
            self._fingerprints.popitem(last=False)
        return fingerprint
