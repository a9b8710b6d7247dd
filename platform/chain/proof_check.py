"""Checks the documents that prove slots (chain/slot_proof.py): no database, no network.

What holds is arithmetic and signatures. What is left to believe is said: how much stake each vote
account has, and who may sign its votes; callers may bring stakes of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import msgspec
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.bank_votes import votes_in
from chain.lattice import LatticeHash, bank_hash
from chain.slot_proof import MalformedProof, SlotProof, Vote
from chain.units import U64_MAX

Stakes = Mapping[bytes, int]  # lamports by vote account


class FalseProof(ValueError):
    """A document that does not prove what it says: of which slot, and what does not hold."""

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


class Votes(NamedTuple):
    """Votes for one bank: of how many accounts, and their stake and all stake in lamports; None
    where it is not known.
    """

    accounts: int
    stake: int | None
    total: int | None

    @property
    def share(self) -> float | None:
        """Of all stake, 0 to 1."""
        return None if self.stake is None or not self.total else self.stake / self.total

    @property
    def is_supermajority(self) -> bool:
        """More than two thirds of all stake: the bank is confirmed."""
        if self.stake is None or not self.total:
            return False
        return 3 * self.stake > 2 * self.total


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was checked: the slots from `first` to `last` hold, and the votes for the bank of
    `voted_slot`, which has every bank before it in its hash. `believed` is what was not checked.
    """

    first: int
    last: int
    slots: int
    bank_hash: bytes
    voted_slot: int
    votes: Votes
    unvoted: int
    believed: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """More than two thirds of the stake voted for a bank that has all slots in its hash."""
        return self.votes.is_supermajority and not self.unvoted


def check(proofs: Sequence[SlotProof], stakes: Stakes | None = None) -> Verdict:
    """Checks slots, oldest first; with `stakes` those count and not the documents'. Raises
    FalseProof.
    """
    for proof in proofs:
        check_bank(proof)
    for before, proof in pairwise(proofs):
        if proof.parent_slot != before.slot or proof.slot <= before.slot:
            raise Disconnected(
                proof.slot, f"its parent is slot {proof.parent_slot}, not slot {before.slot}"
            )
        if proof.parent_bank_hash != before.bank_hash:
            raise Disconnected(
                proof.slot,
                f"its parent's bank hash is {Hash(proof.parent_bank_hash)}, slot {before.slot} has"
                f" {Hash(before.bank_hash)}",
            )
    counted = [check_votes(proof, stakes) for proof in proofs]
    # The highest one with two thirds behind it, or the one with most.
    best = max(
        range(len(proofs)),
        key=lambda number: (
            counted[number].is_supermajority,
            number if counted[number].is_supermajority else (counted[number].share or 0),
            counted[number].accounts,
        ),
    )
    first, last, voted = proofs[0], proofs[-1], proofs[best]
    return Verdict(
        first=first.slot,
        last=last.slot,
        slots=len(proofs),
        bank_hash=last.bank_hash,
        voted_slot=voted.slot,
        votes=counted[best],
        unvoted=len(proofs) - 1 - best,
        believed=_believed(voted, stakes),
    )


def check_bank(proof: SlotProof) -> None:
    """Raises WrongChecksum and WrongBankHash."""
    checksum = LatticeHash(proof.lattice).checksum
    if checksum != proof.checksum:
        raise WrongChecksum(
            proof.slot,
            f"the lattice hash has the checksum {Hash(checksum)}, not {Hash(proof.checksum)}",
        )
    parts = (proof.parent_bank_hash, proof.signature_count, proof.blockhash, proof.lattice)
    found = bank_hash(*parts, hard_fork=proof.hard_fork)
    if found != proof.bank_hash:
        raise WrongBankHash(
            proof.slot, f"its parts make the bank hash {Hash(found)}, not {Hash(proof.bank_hash)}"
        )


def check_votes(proof: SlotProof, stakes: Stakes | None = None) -> Votes:
    """Raises WrongVote, DoubleVote and WrongStake."""
    seen: set[bytes] = set()
    stake: int | None = 0
    for vote in proof.votes:
        name = Pubkey(vote.vote_account)
        if vote.vote_account in seen:
            raise DoubleVote(proof.slot, f"vote account {name} is counted twice")
        seen.add(vote.vote_account)
        _check_vote(proof, vote)
        each = vote.stake if stakes is None else stakes.get(vote.vote_account, 0)
        stake = None if stake is None or each is None else stake + each
    total = proof.total_stake if stakes is None else sum(stakes.values())
    if total is None:
        stake = None
    elif stake is not None and stake > total:
        raise WrongStake(proof.slot, f"{stake} lamports voted, of {total} in all")
    return Votes(len(seen), stake, total)


def _check_vote(proof: SlotProof, vote: Vote) -> None:
    name, wire = Pubkey(vote.vote_account), vote.wire
    if vote.slot <= proof.slot:
        raise WrongVote(proof.slot, f"the vote of {name} is said to be in slot {vote.slot}")
    if wire.signatures[0] != vote.signature:
        raise WrongVote(proof.slot, f"the vote of {name} has another signature than is said")
    # The count of signatures is one byte: sanitize refuses more of them.
    message = vote.data[1 + 64 * len(wire.signatures) :]
    for signature, key in zip(wire.signatures, wire.account_keys, strict=False):
        if not Signature(signature).verify(Pubkey(key), message):
            raise WrongVote(
                proof.slot, f"the vote of {name} is not signed by {Pubkey(key)}: it was made up"
            )
    own = [each for each in votes_in(wire) if each.vote_account == vote.vote_account]
    found = [each for each in own if (each.slot, each.bank_hash) == (proof.slot, proof.bank_hash)]
    if not found:
        other = f", but for {own[0].slot} with {Hash(own[0].bank_hash)}" if own else ""
        raise WrongVote(proof.slot, f"{name} did not vote for this bank{other}")
    signers = {signer for each in found for signer in each.signers}
    if not signers or (vote.voter is not None and vote.voter not in signers):
        voter = "" if vote.voter is None else f", {Pubkey(vote.voter)}"
        raise WrongVote(proof.slot, f"the vote of {name} is not signed by its voter{voter}")


def _believed(proof: SlotProof, stakes: Stakes | None) -> list[str]:
    epoch = "the epoch" if proof.epoch is None else f"epoch {proof.epoch}"
    said = []
    if proof.votes and stakes is None:
        said.append(f"the stakes of {epoch}, as the document has them: give your own with --stakes")
    elif proof.votes:
        said.append(f"that the stakes given are those of {epoch}")
    if any(vote.voter is None for vote in proof.votes):
        said.append("that the signers of a vote may vote for its account: no voter is named")
    elif proof.votes:
        said.append("that the voters named may vote for their accounts in that epoch")
    return said


def read_stakes(text: bytes) -> dict[bytes, int]:
    """Lamports by vote account: of a response of getVoteAccounts (any node's), or of a JSON object
    of numbers by pubkey. Raises MalformedProof.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise MalformedProof("$", f"no JSON: {fault}") from None
    if isinstance(value, dict) and "jsonrpc" in value:
        value = value.get("result")
    if isinstance(value, dict) and "current" in value:
        accounts = [*_list(value, "current"), *_list(value, "delinquent")]
        pairs = [_pair(each, number) for number, each in enumerate(accounts)]
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        raise MalformedProof("$", "stakes by vote account are expected")
    return {_account(key): _lamports(key, number) for key, number in pairs}


def _list(value: dict[str, object], name: str) -> list[object]:
    found = value.get(name, [])
    if not isinstance(found, list):
        raise MalformedProof(f"$.{name}", "a list is expected")
    return found


def _pair(entry: object, number: int) -> tuple[object, object]:
    if not isinstance(entry, dict):
        raise MalformedProof(f"$[{number}]", "a vote account is expected")
    return entry.get("votePubkey"), entry.get("activatedStake")


def _account(text: object) -> bytes:
    try:
        return bytes(Pubkey.from_string(text))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise MalformedProof(f"$.{text}", "no pubkey in base58") from None


def _lamports(key: object, number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= U64_MAX:
        raise MalformedProof(f"$.{key}", "no u64")
    return number
