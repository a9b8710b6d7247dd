"""Bundles on their way into a block: what is taken, and what becomes of each."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from solders.signature import Signature

from chain.commitment import Commitment
from chain.transactions import decode_wire
from chain.units import Slot
from localnet.bank import Bank
from localnet.errors import BadParams, NodeBehind
from localnet.ledger import Ledger, QueueFull
from localnet.submissions import Bundle, BundleState, Submitted
from localnet.tips import announced_tip, writes_tip_account

MOST_TRANSACTIONS = 5
LEAST_TIP = 1_000
# Bundles whose end is still to be reported.
_MOST_OPEN = 10_000


class Step(Enum):
    """What can be reported of a bundle."""

    ACCEPTED = "accepted"
    PROCESSED = "processed"
    FINALIZED = "finalized"
    FAILED = "failed"  # a transaction of it failed
    KNOWN = "known"  # a transaction of it had been processed before


class Result(NamedTuple):
    """One step of one bundle. `identity` is the slot's leader, `place` the bundle's among
    those of its block, `signature` the transaction that failed, `text` why.
    """

    bundle_id: str
    step: Step
    owner: bytes | None
    slot: Slot = Slot(0)
    identity: str = ""
    place: int = 0
    signature: str = ""
    text: str = ""


class _Open(NamedTuple):
    owner: bytes | None
    bundle: Bundle
    processed_in: Slot | None = None


class Auction:
    """Takes bundles for a ledger. `listeners` are called with each result, in order."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.listeners: set[Callable[[Result], None]] = set()
        self._open: dict[str, _Open] = {}
        ledger.watchers.append(self)

    def submit(self, submitted: list[Submitted], *, owner: bytes | None = None) -> str:
        """The bundle's id: it is in the auction, which is no promise that it lands. BadParams,
        NodeBehind.
        """
        if not submitted:
            raise BadParams("bundle contains no transactions")
        if len(submitted) > MOST_TRANSACTIONS:
            raise BadParams(f"bundle exceeds {MOST_TRANSACTIONS} transactions: {len(submitted)}")
        if len({each.signature for each in submitted}) < len(submitted):
            raise BadParams("bundle contains duplicate transactions")
        decoded = [decode_wire(each.wire) for each in submitted]
        if not writes_tip_account(decoded):
            raise BadParams(
                "Bundles must write lock at least one tip account to be eligible for the auction."
            )
        tip = announced_tip(decoded)
        if tip is not None and tip < LEAST_TIP:
            raise BadParams(f"bundle must tip at least {LEAST_TIP} lamports, found {tip}")
        if any(self.ledger.seen(each.signature) for each in submitted):
            raise BadParams("bundle contains an already processed transaction")
        try:
            bundle_id = self.ledger.submit_bundle([each.wire for each in submitted])
        except QueueFull:
            raise NodeBehind from None
        self._began(bundle_id, owner)
        return bundle_id

    # --- as a watcher of the ledger ---------------------------------------------------------------

    def received(self, signature: Signature) -> None:
        pass

    def opened(self, bank: Bank) -> None:
        pass

    def reached(self, bank: Bank, commitment: Commitment) -> None:
        """Called with each block that gets so far, parents first."""
        if commitment is Commitment.PROCESSED:
            index = 0
            for bundle_id, each in list(self._open.items()):
                index += self._settled(bundle_id, each, bank, index)
        elif commitment is Commitment.FINALIZED:
            for bundle_id, each in list(self._open.items()):
                if each.processed_in == bank.slot:
                    del self._open[bundle_id]
                    self._report(Result(bundle_id, Step.FINALIZED, each.owner, bank.slot))

    def _began(self, bundle_id: str, owner: bytes | None) -> None:
        bundle = self.ledger.bundle_status(bundle_id)
        if bundle is None or bundle_id in self._open:
            return
        self._open[bundle_id] = _Open(owner, bundle)
        while len(self._open) > _MOST_OPEN:
            self._open.pop(next(iter(self._open)))
        slot = Slot(self.ledger.head.slot + 1)
        leader = str(self.ledger.schedule.leader(slot).identity.pubkey())
        self._report(Result(bundle_id, Step.ACCEPTED, owner, slot, leader))

    def _settled(self, bundle_id: str, each: _Open, bank: Bank, index: int) -> bool:
        """Reports what the block meant to the bundle; True where it landed in it."""
        bundle = each.bundle
        if bundle.state is BundleState.LANDED and bundle.slot == bank.slot:
            self._open[bundle_id] = each._replace(processed_in=bank.slot)
            leader = str(self.ledger.schedule.leader(bank.slot).identity.pubkey())
            self._report(Result(bundle_id, Step.PROCESSED, each.owner, bank.slot, leader, index))
            return True
        if bundle.state is BundleState.FAILED:
            del self._open[bundle_id]
            known = bundle.error == "AlreadyProcessed"
            failed = "" if bundle.failed is None else str(Signature(bundle.failed))
            step = Step.KNOWN if known else Step.FAILED
            text = "a transaction was processed before" if known else str(bundle.error)
            self._report(Result(bundle_id, step, each.owner, signature=failed, text=text))
        return False

    def _report(self, result: Result) -> None:
        for listener in list(self.listeners):
            listener(result)
