"""Epochs and the leader schedule: who leads which slot."""

import random
from dataclasses import dataclass, field

from solders.pubkey import Pubkey

from chain.units import Epoch, Slot
from localnet.identities import Validator

# A leader's turn, on every Solana cluster.
SLOTS_PER_TURN = 4


@dataclass(slots=True)
class Schedule:
    """The epochs of one chain: all of one length, each with a shuffle of its validators."""

    epoch_slots: int
    seed: bytes
    validators: tuple[Validator, ...]
    _turns: dict[Epoch, list[Validator]] = field(default_factory=dict)

    def epoch_of(self, slot: Slot) -> Epoch:
        return Epoch(slot // self.epoch_slots)

    def first_slot(self, epoch: Epoch) -> Slot:
        return Slot(epoch * self.epoch_slots)

    def leader(self, slot: Slot) -> Validator:
        """The validator whose turn the slot is."""
        turns = self._turns_of(self.epoch_of(slot))
        return turns[slot % self.epoch_slots // SLOTS_PER_TURN]

    def slots_led(self, epoch: Epoch) -> list[tuple[Validator, list[int]]]:
        """Each leader's slots of the epoch, counted from its first one."""
        led: dict[Pubkey, list[int]] = {}
        for turn, validator in enumerate(self._turns_of(epoch)):
            first = turn * SLOTS_PER_TURN
            last = min(first + SLOTS_PER_TURN, self.epoch_slots)
            led.setdefault(validator.vote, []).extend(range(first, last))
        return [(each, led[each.vote]) for each in self.validators if each.vote in led]

    def _turns_of(self, epoch: Epoch) -> list[Validator]:
        turns = self._turns.get(epoch)
        if turns is None:
            chance = random.Random(self.seed + epoch.to_bytes(8, "little"))
            count = -(-self.epoch_slots // SLOTS_PER_TURN)
            turns = self._turns[epoch] = chance.choices(self.validators, k=count)
            while len(self._turns) > 4:
                self._turns.pop(next(iter(self._turns)))
        return turns
