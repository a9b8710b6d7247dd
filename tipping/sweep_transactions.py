"""The transactions that move whole balances of tip addresses to the treasury."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from chain.rent import rent_exempt

# Each source takes a signature, a key and an instruction, 113 bytes: ten fill the 1,232 bytes.
MOST_SOURCES = 10
FEE_PER_SIGNATURE = 5_000
# The network deducts the fee first and refuses a transaction whose payer then holds less than this,
# even if the transfers move the rest.
PAYER_KEEPS = rent_exempt(0)


class Group(NamedTuple):
    """Sources of one transaction with their whole balances. The first one pays the fee."""

    sources: Sequence[tuple[Pubkey, int]]

    @property
    def lamports(self) -> int:
        return sum(lamports for _, lamports in self.sources)

    @property
    def fee(self) -> int:
        return FEE_PER_SIGNATURE * len(self.sources)


def grouped(balances: Mapping[Pubkey, int]) -> list[Group]:
    """As few groups as possible of all addresses with a balance. The richest pay the fees, each for
    the poorest that are left. Addresses for which no payer is left are in no group.
    """
    left = sorted((each for each in balances.items() if each[1] > 0), key=lambda each: each[1])
    groups = []
    while left:
        payer = left[-1]
        size = min(MOST_SOURCES, (payer[1] - PAYER_KEEPS) // FEE_PER_SIGNATURE)
        if size < 1:
            break
        left.pop()
        groups.append(Group([payer, *left[: size - 1]]))
        del left[: size - 1]
    return groups


def sweep_transaction(
    group: Group, keypairs: Sequence[Keypair], *, to: Pubkey, blockhash: Hash
) -> Transaction:
    """A signed transaction that empties the group's sources. `keypairs` are theirs, in order."""
    held = [lamports for _, lamports in group.sources]
    held[0] -= group.fee
    instructions = [
        transfer(TransferParams(from_pubkey=source, to_pubkey=to, lamports=lamports))
        for (source, _), lamports in zip(group.sources, held, strict=True)
    ]
    message = Message.new_with_blockhash(instructions, group.sources[0][0], blockhash)
    return Transaction(list(keypairs), message, blockhash)
