"""getSlotProof."""

from gateway.calls import Call
from jsonrpc.params import U64, Config
from rewind.errors import SlotTooNew, SlotTooOld, SlotUnproven
from rewind.method_table import methods
from rewind.proof.results import ProvenSlot
from rewind.proof.services import slot_chains, slot_proofs


class SlotProofConfig(Config, frozen=True, kw_only=True):
    """How much of the proof.

    include_lattice: whether the 2,048 bytes of the sum of all accounts are in it; true by default
    include_votes: whether the votes are; true by default
    chain: whether the proofs of the slots above it are, up to the one whose votes settle it; false
        by default
    """

    include_lattice: bool | None = None
    include_votes: bool | None = None
    chain: bool | None = None


@methods.add("getSlotProof", expensive=True, errors=(SlotTooNew, SlotTooOld, SlotUnproven))
def get_slot_proof(
    call: Call, slot: U64, config: SlotProofConfig = SlotProofConfig()
) -> ProvenSlot:
    """What the hash of a slot's bank is made of, and the votes for it: everything that a check
    without this service needs.

    slot: a slot with a block
    config: how much of the proof
    """
    find = slot_chains.slot_chain if config.chain else slot_proofs.slot_proof
    return find(
        slot,
        with_lattice=config.include_lattice is not False,
        with_votes=config.include_votes is not False,
    )
