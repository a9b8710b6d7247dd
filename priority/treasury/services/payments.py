"""The treasury's balance, and payments from it."""

from dataclasses import dataclass
from datetime import datetime

from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from chain.derived_keys import derived_keypair
from chain.rent import rent_exempt
from priority.acceptance.services.accepting import submit_own
from priority.models import Submission
from priority.treasury.store import submitted
from tipping.services import ledger
from tipping.sweep_transactions import FEE_PER_SIGNATURE
from upstream.balances import balances, latest_blockhash
from upstream.node import Node


class PaymentRefused(Exception):
    """The treasury cannot pay that; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Treasury:
    """Lamports as the ledger of tips has them, and as the node reports them at `slot`."""

    address: Pubkey
    is_ours: bool
    by_ledger: int
    by_node: int
    slot: int


def treasury_of(address: Pubkey, *, seed: bytes, node: Node) -> Treasury:
    """Raises NodeError."""
    found = balances(node, [address])
    return Treasury(
        address=address,
        is_ours=_keypair(seed).pubkey() == address,
        by_ledger=ledger.balance_of([bytes(address)])[bytes(address)],
        by_node=found.lamports[address],
        slot=found.slot,
    )


def pay(
    to: Pubkey, lamports: int, *, address: Pubkey, seed: bytes, node: Node, now: datetime
) -> Signature:
    """Queues a transfer and returns its signature. Raises PaymentRefused, NodeError,
    NotAccepted.
    """
    treasury = treasury_of(address, seed=seed, node=node)
    if not treasury.is_ours:
        raise PaymentRefused(
            "its key is not made from TIP_SECRET_SEED: pay with the wallet that holds it"
        )
    if to == address:
        raise PaymentRefused("that is the treasury itself")
    left = treasury.by_node - lamports - FEE_PER_SIGNATURE
    if lamports < 1 or left < 0:
        most = max(0, treasury.by_node - FEE_PER_SIGNATURE)
        raise PaymentRefused(f"1 to {most:,} lamports can be paid, beside the fee")
    if 0 < left < rent_exempt(0):
        raise PaymentRefused(
            f"{left:,} lamports would be left: all must go, or {rent_exempt(0):,} must stay"
        )
    keypair = _keypair(seed)
    blockhash = latest_blockhash(node)
    instruction = transfer(TransferParams(from_pubkey=address, to_pubkey=to, lamports=lamports))
    message = Message.new_with_blockhash([instruction], address, blockhash)
    signed = Transaction([keypair], message, blockhash)
    submit_own(bytes(signed), kind=Submission.Kind.SWEEP, now=now)
    return signed.signatures[0]


def fate_of(signature: Signature) -> Submission | None:
    """The sweep's row; None until a lander has claimed it."""
    return submitted([signature]).get(signature)


def _keypair(seed: bytes) -> Keypair:
    return derived_keypair(seed, "treasury")
