"""Our own tips for block engines: the tip transaction and the account that pays it."""

import logging
import random
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from chain.units import LAMPORTS_PER_SOL
from priority.lander.chain_view import Chain
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

_FEE_LAMPORTS = 5_000 + 1_000  # a signature, and the compute units at most
_RENT_LAMPORTS = 890_880  # the rent-exempt minimum
# Below this many tips a warning is logged, or localnet's faucet is asked.
_LOW_TIPS = 1_000
_AIRDROP_LAMPORTS = 10 * LAMPORTS_PER_SOL
_LOWEST_UNITS, _HIGHEST_UNITS, _HIGHEST_PRICE = 1_000, 60_000, 10_000
# After this many blocks a tip is signed again.
_GOOD_FOR_BLOCKS = 100
_MOST_FORMS = 256
_HEADER_BYTES = 4  # with the number of account keys
# Two landers pay from one account: random fields keep their tips distinct.
_chance = random.Random()


class OwnTip(NamedTuple):
    """The signed transaction, and the block height when it was signed."""

    wire: bytes
    height: int


class _Form(NamedTuple):
    """A tip's message, with the offsets of the fields that differ between tips."""

    compiled: bytes
    units_at: int
    price_at: int
    blockhash_at: int

    def message(self, units: int, price: int, blockhash: bytes) -> bytes:
        made = bytearray(self.compiled)
        made[self.units_at : self.units_at + 4] = units.to_bytes(4, "little")
        made[self.price_at : self.price_at + 8] = price.to_bytes(8, "little")
        made[self.blockhash_at : self.blockhash_at + 32] = blockhash
        return bytes(made)


def _form(payer: Pubkey, account: Pubkey, lamports: int) -> _Form:
    """A compiled message to reuse: compiling costs as much as signing twice."""
    pay = TransferParams(from_pubkey=payer, to_pubkey=account, lamports=lamports)
    limit, price = set_compute_unit_limit(0), set_compute_unit_price(0)
    message = Message.new_with_blockhash([limit, price, transfer(pay)], payer, Hash.default())
    compiled = bytes(message)
    blockhash_at = _HEADER_BYTES + 32 * len(message.account_keys)
    # Behind the blockhash; an instruction's data comes with its length.
    return _Form(
        compiled,
        compiled.index(bytes([len(limit.data)]) + limit.data, blockhash_at + 32) + 2,
        compiled.index(bytes([len(price.data)]) + price.data, blockhash_at + 32) + 2,
        blockhash_at,
    )


class FeePayer:
    """The account that pays our tips. `lamports` is the last balance read, None before."""

    def __init__(self, payer: Keypair) -> None:
        # OpenSSL signs in three quarters of solders' time.
        self._sign = Ed25519PrivateKey.from_private_bytes(bytes(payer)[:32]).sign
        self.pubkey = payer.pubkey()
        self._forms: dict[tuple[Pubkey, int], _Form] = {}
        self.lamports: int | None = None
        self.is_low = False

    def can_pay(self, tip_lamports: int) -> bool:
        """Whether the known balance covers a tip."""
        if self.lamports is None:
            return True
        return self.lamports >= tip_lamports + _FEE_LAMPORTS + _RENT_LAMPORTS

    def tip(self, accounts: Sequence[Pubkey], lamports: int, chain: Chain) -> OwnTip | None:
        """A new transaction to one of the accounts; None while no blockhash is known."""
        if chain.head_blockhash is None:
            return None
        # Two tips must not be the same transaction: only one of their bundles could land.
        units = _chance.randrange(_LOWEST_UNITS, _HIGHEST_UNITS)
        price = _chance.randrange(_HIGHEST_PRICE)
        account = _chance.choice(accounts)
        form = self._forms.get((account, lamports))
        if form is None:
            while len(self._forms) >= _MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            form = self._forms[account, lamports] = _form(self.pubkey, account, lamports)
        message = form.message(units, price, chain.head_blockhash)
        return OwnTip(b"\x01" + self._sign(message) + message, chain.head_height or 0)

    def look(self, node: Node, *, tip_lamports: int, with_faucet: bool) -> None:
        """Reads the balance from the node (blocking). A low one is refilled by the faucet or logged
        as a warning.
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
    """Whether the tip can be used for another attempt."""
    return (chain.head_height or 0) - tip.height < _GOOD_FOR_BLOCKS
