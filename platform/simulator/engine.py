"""Engine: executes transactions as the chain would, on given accounts."""

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
# Loaded code takes five to seven times its bytes; a machine with more is replaced.
_MOST_CODE_BYTES = 48 * 1024 * 1024

# With any other value native code prints a backtrace on panic, which is slow.
os.environ["RUST_BACKTRACE"] = "0"


class Engine:
    """One VM per feature set. Not thread-safe. Writes of a transaction are not kept: callers apply
    `Outcome.writes`.

    `load` is called for every account that a transaction needs: its keys, its lookup tables, the
    code of its programs, the mints of its token accounts, and the sysvars. For sysvars and builtins
    that it does not return, the engine uses its own.
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
        """The transaction's outcome; EngineFault if it is unknown."""
        features = moment.features or mainnet_features()
        fingerprint = self._fingerprint(features)
        machine = self._machine(features, fingerprint)
        try:
            return run(transaction, machine, load, moment, verify=verify)
        except BaseException:
            # An interrupted run may have left state behind.
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
        """The outcomes in order, each on the writes of those before; the first failure is the last
        outcome. A repeated transaction fails as AlreadyProcessed.
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
        if machine is None or machine.programs.loaded_bytes() > _MOST_CODE_BYTES:
            machine = self._machines[fingerprint] = Machine(features, rules_of(fingerprint))
        self._machines.move_to_end(fingerprint)
        if len(self._machines) > _MOST_MACHINES:
            self._machines.popitem(last=False)
        return machine

    def _fingerprint(self, features: FeatureSet) -> frozenset[Pubkey]:
        """The active features: equal sets share a machine."""
        known = self._fingerprints.get(id(features))
        if known is not None:
            return known[1]
        fingerprint = frozenset(features.active)
        # Keeping the set prevents its id from being reused.
        self._fingerprints[id(features)] = features, fingerprint
        if len(self._fingerprints) > _MOST_FINGERPRINTS:
            self._fingerprints.popitem(last=False)
        return fingerprint
