"""What is wrong with documents that prove slots, and with what readers give to check them."""


class FalseProof(ValueError):
    """A document that does not prove what it says: its slot, and what does not hold."""

    def __init__(self, slot: int, reason: str) -> None:
        super().__init__(f"slot {slot}: {reason}")
        self.slot = slot
        self.reason = reason


class WrongChecksum(FalseProof):
    """The checksum is not that of the lattice hash."""


class WrongBankHash(FalseProof):
    """The parts do not make the bank's hash."""


class Disconnected(FalseProof):
    """A slot of a chain whose parent is not the slot before it."""


class WrongVote(FalseProof):
    """A vote that is not signed, is for another bank, or of another account or voter than said."""


class DoubleVote(FalseProof):
    """A vote account that is counted twice."""


class WrongStake(FalseProof):
    """More stake voted than there is."""


class WrongEpoch(FalseProof):
    """The slot is in another epoch than the document says."""


class WrongNumber(FalseProof):
    """The slots have other numbers: votes name one that is not among them."""


class OtherEpoch(ValueError):
    """The stakes that the reader gave are those of another epoch."""
