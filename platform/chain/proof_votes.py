"""Counts the votes of a document that proves a slot (chain/slot_proof.py)."""

from collections.abc import Iterable
from dataclasses import dataclass

from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.bank_votes import BankVote, votes_in
from chain.electorates import Electorate
from chain.false_proofs import DoubleVote, WrongStake, WrongVote
from chain.slot_proof import SlotProof, Vote


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes for one bank that count: of how many accounts, and their stake and all stake in
    lamports; None if it is not known. `uncounted` votes are of accounts without stake, or not
    signed by the voter given. `ancestors` are slots below that more than two thirds of the stake
    named as ancestors of the bank's.
    """

    accounts: int
    stake: int | None
    total: int | None
    uncounted: int = 0
    ancestors: frozenset[int] = frozenset()

    @property
    def share(self) -> float | None:
        """Of all stake, 0 to 1."""
        return None if self.stake is None or not self.total else self.stake / self.total

    @property
    def is_supermajority(self) -> bool:
        """More than two thirds of all stake: the bank is confirmed."""
        return _is_supermajority(self.stake, self.total)


def check_votes(proof: SlotProof, electorate: Electorate | None = None) -> Votes:
    """With an electorate its stakes and voters count, else the document's. Raises WrongVote,
    DoubleVote and WrongStake.
    """
    seen: set[bytes] = set()
    counted: list[tuple[int | None, BankVote]] = []
    for vote in proof.votes:
        if vote.vote_account in seen:
            name = Pubkey(vote.vote_account)
            raise DoubleVote(proof.slot, f"vote account {name} is counted twice")
        seen.add(vote.vote_account)
        signed = _checked(proof, vote)
        if electorate is None:
            counted.append((vote.stake, signed[0]))
            continue
        weighed = ((_weight(electorate, each), each) for each in signed)
        counted += [found for found in weighed if found[0]][:1]
    total = proof.total_stake if electorate is None else sum(electorate.stakes.values())
    known = [stake for stake, _ in counted if stake is not None]
    stake = sum(known) if total is not None and len(known) == len(counted) else None
    if stake is not None and total is not None and stake > total:
        raise WrongStake(proof.slot, f"{stake} lamports voted, of {total} in all")
    uncounted = len(seen) - len(counted)
    return Votes(len(counted), stake, total, uncounted, _ancestors(counted, total))


def _is_supermajority(stake: int | None, total: int | None) -> bool:
    return stake is not None and total is not None and 3 * stake > 2 * total


def _weight(electorate: Electorate, vote: BankVote) -> int:
    """In lamports; 0 if the account has none, or its voter did not sign."""
    voters = electorate.voters
    if voters is not None and voters.get(vote.vote_account) not in vote.signers:
        return 0
    return electorate.stakes.get(vote.vote_account, 0)


def _ancestors(counted: Iterable[tuple[int | None, BankVote]], total: int | None) -> frozenset[int]:
    weights: dict[int, int] = {}
    for stake, vote in counted:
        for slot in set(vote.tower) - {vote.slot}:
            weights[slot] = weights.get(slot, 0) + (stake or 0)
    return frozenset(slot for slot, weight in weights.items() if _is_supermajority(weight, total))


def _checked(proof: SlotProof, vote: Vote) -> list[BankVote]:
    """The transaction's votes for the document's bank, signed by the voter that it names; one, but
    for transactions that vote twice.
    """
    name = Pubkey(vote.vote_account)
    if vote.slot <= proof.slot:
        raise WrongVote(proof.slot, f"the vote of {name} is said to be in slot {vote.slot}")
    if vote.wire.signatures[0] != vote.signature:
        raise WrongVote(proof.slot, f"the vote of {name} has another signature than is said")
    _check_signatures(proof, vote)
    own = [each for each in votes_in(vote.wire) if each.vote_account == vote.vote_account]
    found = [each for each in own if (each.slot, each.bank_hash) == (proof.slot, proof.bank_hash)]
    if not found:
        raise WrongVote(proof.slot, f"{name} did not vote for this bank{_instead(proof, own)}")
    signed = [each for each in found if each.signers and vote.voter in (None, *each.signers)]
    if not signed:
        voter = "" if vote.voter is None else f", {Pubkey(vote.voter)}"
        raise WrongVote(proof.slot, f"the vote of {name} is not signed by its voter{voter}")
    return signed


def _check_signatures(proof: SlotProof, vote: Vote) -> None:
    wire = vote.wire
    length = 64 * len(wire.signatures)
    # Signatures come last in version 1; else first, behind their count, which is one byte.
    message = vote.data[:-length] if wire.version == 1 else vote.data[1 + length :]
    for signature, key in zip(wire.signatures, wire.account_keys, strict=False):
        if not Signature(signature).verify(Pubkey(key), message):
            raise WrongVote(
                proof.slot,
                f"the vote of {Pubkey(vote.vote_account)} is not signed by {Pubkey(key)}: it was"
                " made up",
            )


def _instead(proof: SlotProof, own: list[BankVote]) -> str:
    if not own:
        return ""
    said = f", but for {own[0].slot} with {Hash(own[0].bank_hash)}"
    if own[0].slot > proof.slot:
        return f"{said}: that proves it only with the documents of the slots up to {own[0].slot}"
    return said
