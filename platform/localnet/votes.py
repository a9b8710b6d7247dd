"""Votes: what each validator says of the parent of a block, as transactions in that block."""

import struct
from dataclasses import dataclass
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import VersionedMessage
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from chain.addresses import VOTE
from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.raw import RawAccount
from chain.parsed_accounts.vote import parse_vote_account
from chain.shown_votes import vote_of
from chain.transactions import decode_wire
from chain.units import U64_MAX, UnixTimestamp
from localnet.bank import Bank
from localnet.identities import Validator
from localnet.submissions import Submitted, read_transaction

_TOWER_SYNC = 14
# Votes that a tower holds; the one that a further vote pushes out becomes its root.
_TOWER_HEIGHT = 31


@dataclass(slots=True)
class Tower:
    """A validator's votes, oldest first, as [slot, confirmations]; and the newest slot that they
    have made final for it, None before that.
    """

    votes: list[list[int]]
    root: int | None

    def vote(self, slot: int) -> None:
        """Adds a vote: those that it outlives leave, and those below it are confirmed once more
        where so many stand on them.
        """
        while self.votes and self.votes[-1][0] + 2 ** self.votes[-1][1] < slot:
            self.votes.pop()
        if len(self.votes) == _TOWER_HEIGHT:
            self.root = self.votes.pop(0)[0]
        self.votes.append([slot, 1])
        for place, vote in enumerate(self.votes):
            if len(self.votes) > place + vote[1]:
                vote[1] += 1


def vote_account(bank: Bank, key: Pubkey) -> dict[str, Any] | None:
    """The vote account in the node's parsed form; None where there is none that can be read."""
    account = bank.load(key)
    if account is None or account.owner != VOTE:
        return None
    try:
        parsed = parse_vote_account(RawAccount(str(key), account.data, lambda mint: None))
    except UnreadableError:
        return None
    info: dict[str, Any] = parsed["info"]
    return info


def is_vote(message: VersionedMessage) -> bool:
    """Whether it is a vote and nothing else."""
    if len(message.instructions) != 1:
        return False
    program = message.instructions[0].program_id_index
    return program < len(message.account_keys) and message.account_keys[program] == VOTE


def votes_in(bank: Bank, *, forged: int = 0) -> list[Submitted]:
    """A vote of each validator for the open bank's parent, on its account as this bank has it: so
    a fork that died leaves nothing behind, and a restart goes on. None for the genesis block. Of
    the first validators, so many are `forged`: another key signed them.
    """
    if not bank.parent_slot:
        return []
    found = (
        _vote_in(bank, validator, is_forged=number < forged)
        for number, validator in enumerate(bank.schedule.validators)
    )
    return [vote for vote in found if vote is not None]


def _vote_in(bank: Bank, validator: Validator, *, is_forged: bool) -> Submitted | None:
    info = vote_account(bank, validator.vote)
    if info is None:  # closed: its key is public
        return None
    votes = [[each["slot"], each["confirmationCount"]] for each in info["votes"]]
    tower = Tower(votes, info["rootSlot"])
    if votes and votes[-1][0] >= bank.parent_slot:
        return None
    tower.vote(bank.parent_slot)
    identity, voter = validator.identity, _voter(bank, validator, info)
    if voter is None:  # the authority is another key now
        return None
    instruction = Instruction(
        VOTE,
        tower_sync(tower, bank.bank_hash, bank.block_time),
        [AccountMeta(validator.vote, False, True), AccountMeta(voter.pubkey(), True, False)],
    )
    signers = [identity] if voter is identity else [identity, voter]
    signed = Transaction.new_signed_with_payer(
        [instruction], identity.pubkey(), signers, bank.previous_blockhash
    )
    if is_forged:
        message = signed.message
        signature = Keypair.from_seed(bytes(32)).sign_message(bytes(message))
        signed = Transaction.populate(message, [signature] * len(signers))
    return read_transaction(bytes(signed), verify=False)


def _voter(bank: Bank, validator: Validator, info: dict[str, Any]) -> Keypair | None:
    """The key that may vote on the account now: its own, and in chains of before the identity's."""
    named = [each for each in info["authorizedVoters"] if each["epoch"] <= bank.epoch]
    name = named[-1]["authorizedVoter"] if named else None
    for keypair in (validator.voter, validator.identity):
        if str(keypair.pubkey()) == name:
            return keypair
    return None


def tower_sync(tower: Tower, bank_hash: bytes, now: UnixTimestamp) -> bytes:
    """The instruction's data: the whole tower, each slot as its distance from the one before."""
    parts = [
        struct.pack("<IQ", _TOWER_SYNC, U64_MAX if tower.root is None else tower.root),
        _varint(len(tower.votes)),
    ]
    before = tower.root or 0
    for slot, confirmations in tower.votes:
        parts.append(_varint(slot - before) + bytes((confirmations,)))
        before = slot
    parts.append(bank_hash + struct.pack("<?q", True, now))
    return b"".join(parts) + bytes(32)  # no block id: there are no shreds


def shown_votes(bank: Bank) -> list[dict[str, Any]]:
    """The votes of the block's own validators that succeeded, as voteSubscribe gives them."""
    statuses = ((vote, bank.statuses.get(vote.signature)) for vote in bank.votes)
    succeeded = (vote for vote, status in statuses if status is not None and status.err is None)
    votes = (vote_of(decode_wire(vote.wire)) for vote in succeeded)
    return [vote for vote in votes if vote is not None]


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes((*written, number))
