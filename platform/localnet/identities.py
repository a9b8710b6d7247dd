"""localnet's keys: its validators, which all are this one process, the faucet, and the accounts
that the block engine takes tips on.

They are derived from fixed words, so that a wallet or a test knows them without asking; nothing
of value may ever lie on them.
"""

from dataclasses import dataclass
from hashlib import sha256

from solders.keypair import Keypair
from solders.pubkey import Pubkey

VALIDATOR_COUNT = 4
TIP_ACCOUNT_COUNT = 8


@dataclass(frozen=True, slots=True)
class Validator:
    """A leader: its identity, which receives the fees, its vote account and its stake account."""

    identity: Keypair
    vote: Pubkey
    stake: Pubkey


def _keypair(name: str) -> Keypair:
    return Keypair.from_seed(sha256(f"tidemark localnet {name}".encode()).digest())


VALIDATORS = tuple(
    Validator(
        identity=_keypair(f"identity {number}"),
        vote=_keypair(f"vote {number}").pubkey(),
        stake=_keypair(f"stake {number}").pubkey(),
    )
    for number in range(VALIDATOR_COUNT)
)
FAUCET = _keypair("faucet")
TIP_ACCOUNTS = tuple(
    _keypair(f"tip account {number}").pubkey() for number in range(TIP_ACCOUNT_COUNT)
)
