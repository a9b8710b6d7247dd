"""Signs the transactions of made blocks: history is refused where they are not signed."""

from dataclasses import replace

from solders.keypair import Keypair

from chain.signed import signed_bytes
from chain.transactions import Wire


def signed(wire: Wire, *signers: Keypair) -> Wire:
    """The transaction signed by its first keys, in their order."""
    assert [bytes(each.pubkey()) for each in signers] == wire.account_keys[: len(signers)]
    empty = replace(wire, signatures=[bytes(64)] * len(signers))
    message = signed_bytes(empty)
    return replace(empty, signatures=[bytes(each.sign_message(message)) for each in signers])
