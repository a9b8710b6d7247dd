"""Results of getSlotProof, and what other results say of the proof."""

from typing import Literal

from msgspec import UNSET, UnsetType
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from jsonrpc.wire import Result

StateName = Literal["proven", "consistent", "refuted", "unproven"]
RestsOn = Literal["snapshot", "operator", "node", "stream", "accounts", "unchecked"]


class ProofRange(Result, frozen=True, kw_only=True):
    """A run of slots in the same state.

    from_slot: the first of them
    to_slot: the last of them
    state: `proven`: more than two thirds of the stake signed what the archive has, by stakes and
        voters that the operator gave, or that follow from it; `consistent`: the same by stakes or
        voters that no one vouches for; `refuted`: they signed something else; `unproven`: none of
        it, or not yet
    reason: why they are `unproven` or `refuted`; absent if they are neither
    rests_on: where stakes and voters are from: `snapshot`, `operator` (a bank hash in the
        settings), `node`, `stream` (vote accounts as the stream began with them), `accounts` (a
        number of vote accounts, whatever their stake) or `unchecked` (settled by an older version,
        which did not check signatures); absent if they are neither `proven` nor `consistent`
    rests_on_slot: the slot of that snapshot or bank; absent without one
    """

    from_slot: int
    to_slot: int
    state: StateName
    reason: str | UnsetType = UNSET
    rests_on: RestsOn | UnsetType = UNSET
    rests_on_slot: int | UnsetType = UNSET


class Standing(Result, frozen=True, kw_only=True):
    """Whether the cluster voted for what the archive has at the end of the position's slot.

    state: `proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage
    slot: the slot with a block at or below the position, whose bank it is; absent until
        it is computed
    bank_hash: that bank's hash, as the archive computes it; absent until it does
    voted_through: the slot whose votes settled it, its own or one above; absent until votes did
    share: which part of all stake the checked votes have, 0 to 1: no more are checked than are
        needed; absent if stakes are not known
    voters: how many vote accounts these votes are of; absent without any
    reason: why it is `unproven` or `refuted`; absent if it is neither
    rests_on: where stakes and voters are from, as in getRewindCoverage; absent if it is neither
        `proven` nor `consistent`
    rests_on_slot: the slot of that snapshot or bank; absent without one
    """

    state: StateName
    slot: int | UnsetType = UNSET
    bank_hash: Hash | UnsetType = UNSET
    voted_through: int | UnsetType = UNSET
    share: float | UnsetType = UNSET
    voters: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    rests_on: RestsOn | UnsetType = UNSET
    rests_on_slot: int | UnsetType = UNSET


class ProofVote(Result, frozen=True, kw_only=True):
    """A vote for the slot's bank.

    vote_pubkey: the vote account
    signature: of the transaction that carries it
    slot: of the block in which that landed
    stake: of the account in the slot's epoch, in lamports; null if it is not known
    authorized_voter: who may sign for it in that epoch; null if it is not known
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
    state: `proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage
    reason: why it is `unproven` or `refuted`; null if it is neither
    rests_on: where stakes and voters are from, as in getRewindCoverage; null if it is neither
        `proven` nor `consistent`
    rests_on_slot: the slot of that snapshot or bank; null without one
    bank_hash: its bank's hash, as it follows from the archive
    parent_slot: of the block before it
    parent_bank_hash: of that block's bank
    signature_count: signatures of the block's transactions, votes too
    blockhash: the block's
    accounts_lattice_checksum: of the sum of all accounts at its end; a snapshot of that slot has it
        in its name
    accounts_lattice_hash: that sum, 2,048 bytes in base64; absent unless requested
    epoch: the slot's
    total_stake: of the epoch, in lamports; null if it is not known
    voted_through: the slot whose votes settled it, its own or one above; null while none did
    voted_bank_hash: what these votes are for, if the slot is refuted; else null
    votes: those that the ledger has for the bank of this slot, one for each vote account
    chain: the slots with a block above it up to `votedThrough`, oldest first, at most 128; only the
        last of them has votes; absent unless requested
    """

    slot: int
    state: StateName
    reason: str | None
    rests_on: RestsOn | None
    rests_on_slot: int | None
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
