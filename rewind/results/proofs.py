"""Results of getSlotProof, and what other results say of the proof."""

from typing import Literal, cast

from msgspec import UNSET, UnsetType
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from jsonrpc.wire import Result

StateName = Literal["proven", "refuted", "unproven"]


class ProofRange(Result, frozen=True, kw_only=True):
    """A run of slots that are proven, refuted, or neither.

    from_slot: the first of them
    to_slot: the last of them
    state: `proven`: more than two thirds of the stake voted for what the archive has; `refuted`: it
        voted for something else; `unproven`: neither, or not yet
    reason: why they are not proven; left out where they are
    """

    from_slot: int
    to_slot: int
    state: StateName
    reason: str | UnsetType = UNSET

    @classmethod
    def of(cls, first: int, last: int, state: str, reason: str) -> "ProofRange":
        return cls(
            from_slot=first,
            to_slot=last,
            state=cast(StateName, state),
            reason=reason or UNSET,
        )


class Standing(Result, frozen=True, kw_only=True):
    """Whether the cluster voted for what the archive has at the end of the position's slot.

    state: `proven`, `refuted` or `unproven`
    slot: the slot with a block at or below the position, whose bank it is; left out where none is
        computed
    bank_hash: that bank's hash, as the archive makes it; left out where none is computed
    voted_through: the slot whose votes prove it, its own or one above; left out where it is not
    share: which part of all stake these votes have, 0 to 1; left out where stakes are not known
    voters: how many vote accounts these votes are of; left out where there are none
    reason: why it is not proven; left out where it is
    """

    state: StateName
    slot: int | UnsetType = UNSET
    bank_hash: Hash | UnsetType = UNSET
    voted_through: int | UnsetType = UNSET
    share: float | UnsetType = UNSET
    voters: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ProofVote(Result, frozen=True, kw_only=True):
    """A vote for the slot's bank.

    vote_pubkey: the vote account
    signature: of the transaction that carries it
    slot: of the block in which that landed
    stake: of the account in the slot's epoch, in lamports; null where it is not known
    authorized_voter: who may sign for it in that epoch; null where it is not known
    transaction: that transaction, base64
    """

    vote_pubkey: Pubkey
    signature: Signature
    slot: int
    stake: int | None
    authorized_voter: Pubkey | None
    transaction: str


class ProvenSlot(Result, frozen=True, kw_only=True):
    """All that shows what the cluster voted for: `manage.py verify_proof` checks it without us.

    slot: the slot
    state: `proven`, `refuted` or `unproven`
    reason: why it is not proven; null where it is
    bank_hash: its bank's hash, as it follows from the archive
    parent_slot: of the block before it
    parent_bank_hash: of that block's bank
    signature_count: signatures of the block's transactions, votes too
    blockhash: the block's
    accounts_lattice_checksum: of the sum of all accounts at its end; a snapshot of that slot has it
        in its name
    accounts_lattice_hash: that sum, 2,048 bytes in base64; left out where it was not asked for
    epoch: the slot's
    total_stake: of the epoch, in lamports; null where it is not known
    voted_through: the slot whose votes settled it, its own or one above; null while none did
    voted_bank_hash: what these votes are for, if the slot is refuted; else null
    votes: those that the ledger has for the bank of this slot, one for each vote account
    chain: the slots with a block above it up to `votedThrough`, oldest first, at most 128; only the
        last of them has votes; left out unless it was asked for
    """

    slot: int
    state: StateName
    reason: str | None
    bank_hash: Hash
    parent_slot: int
    parent_bank_hash: Hash
    signature_count: int
    blockhash: Hash
    accounts_lattice_checksum: Hash
    accounts_lattice_hash: str | UnsetType = UNSET
    epoch: int
    total_stake: int | None
    voted_through: int | None
    voted_bank_hash: Hash | None
    votes: list[ProofVote]
    chain: "list[ProvenSlot] | UnsetType" = UNSET
