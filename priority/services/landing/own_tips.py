"""Our own tips for block engines: a transaction behind a bundle, and the purse that pays it."""

import logging
import random
from collections.abc import Sequence
from typing import NamedTuple

from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from chain.units import LAMPORTS_PER_SOL
from priority.services.landing.chain_view import Chain
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_FEE_LAMPORTS = 5_000 + 1_000  # a signature, and what the compute units may cost
_RENT_LAMPORTS = 890_880  # less may not stay on an account
# From so many tips on people are told, or localnet's faucet is asked.
_LOW_TIPS = 1_000
_AIRDROP_LAMPORTS = 10 * LAMPORTS_PER_SOL
_LOWEST_UNITS, _HIGHEST_UNITS, _HIGHEST_PRICE = 1_000, 60_000, 10_000
# A tip on an older blockhash is made anew.
_GOOD_FOR_BLOCKS = 100
_chance = random.SystemRandom()


class OwnTip(NamedTuple):
    """The signed transaction, and the block height of when it was made."""

    wire: bytes
    height: int


class Purse:
    """The account that pays our tips. Its balance is what was read last, None before that."""

    def __init__(self, payer: Keypair) -> None:
        self._payer = payer
        self.lamports: int | None = None
        self.is_low = False

    @property
    def pubkey(self) -> Pubkey:
        return self._payer.pubkey()

    def can_pay(self, tip_lamports: int) -> bool:
        """Whether a tip would be paid, as far as is known."""
        if self.lamports is None:
            return True
        return self.lamports >= tip_lamports + _FEE_LAMPORTS + _RENT_LAMPORTS

    def tip(self, accounts: Sequence[Pubkey], lamports: int, chain: Chain) -> OwnTip | None:
        """A new transaction to one of the accounts; None while no blockhash is known."""
        if chain.head_blockhash is None:
            return None
        # No two tips may be the same transaction: only one bundle of theirs could land.
        units = _chance.randrange(_LOWEST_UNITS, _HIGHEST_UNITS)
        price = _chance.randrange(_HIGHEST_PRICE)
        pay = TransferParams(
            from_pubkey=self.pubkey, to_pubkey=_chance.choice(accounts), lamports=lamports
        )
        transaction = Transaction.new_signed_with_payer(
            [set_compute_unit_limit(units), set_compute_unit_price(price), transfer(pay)],
            self.pubkey,
            [self._payer],
            Hash(chain.head_blockhash),
        )
        return OwnTip(bytes(transaction), chain.head_height or 0)

    def look(self, node: Node, *, tip_lamports: int, with_faucet: bool) -> None:
        """Reads the balance, and sees to it, or to it that somebody hears of it, when it is low.
        It waits for the node.
        """
        config = {"commitment": "confirmed"}
        try:
            found = node.call("getBalance", str(self.pubkey), config)
            lamports = found["value"]
            if type(lamports) is not int:
                raise TypeError
            self.lamports = lamports
            low = not self.can_pay(tip_lamports * _LOW_TIPS)
            if low and with_faucet:
                node.call("requestAirdrop", str(self.pubkey), _AIRDROP_LAMPORTS)
        except (NodeError, KeyError, TypeError) as error:
            log.debug("the balance of the own tips' account is not known: %s", error)
            return
        if low and not self.is_low and not with_faucet:
            log.warning(
                "%s, which pays our tips for block engines, has %d lamports left: send it more",
                self.pubkey,
                lamports,
            )
        self.is_low = low


def is_good(tip: OwnTip, chain: Chain) -> bool:
    """Whether the tip can go with another try."""
    return (chain.head_height or 0) - tip.height < _GOOD_FOR_BLOCKS
