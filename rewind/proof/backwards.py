"""From a bank that is known down to its parent: no votes are needed, since each bank's hash has the
one below in it.
"""

from collections.abc import Iterable

from chain.lattice import LatticeHash, bank_hash
from rewind.proof.banks import Bank, SlotWrites


def parent_of(
    bank: Bank,
    below: SlotWrites,
    old: Iterable[bytes],
    new: Iterable[bytes],
    hashes: Iterable[bytes],
) -> Bank | None:
    """The parent's bank as it follows from what the bank's slot wrote, `old` before it and `new`
    after; `below` is the parent's own slot. None unless that, with one of the `hashes` of the
    parent's parent, makes the hash that the bank has of its parent.
    """
    total = LatticeHash(bank.lattice)
    for value in new:
        total.take(value)
    for value in old:
        total.add(value)
    lattice = bytes(total)
    for each in hashes:
        parts = (each, below.signature_count, below.blockhash)
        if bank_hash(*parts, lattice) == bank.parent_hash:
            return Bank(below.slot, below.parent_slot, bank.parent_hash, *parts, lattice)
    return None
