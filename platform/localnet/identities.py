"""localnet's keys: its validators, which all are this one process, the faucet, and the accounts
that the block engine takes tips on.

They are derived from fixed words, so that a wallet or a test knows them without asking; nothing
of value may ever lie on them.
"""

import functools
from dataclasses import dataclass
from hashlib import sha256

from solders.keypair import Keypair
from solders.pubkey import Pubkey

VALIDATOR_COUNT = 4
MOST_VALIDATORS = 32
TIP_ACCOUNT_COUNT = 8


@dataclass(frozen=True, slots=True)
class Validator:
    """A leader: its identity, which receives the fees, its vote account, with the key that votes
    and withdraws there, and its stake account.
    """

    identity: Keypair
    voter: Keypair
    vote: Pubkey
    stake: Pubkey


def _keypair(name: str) -> Keypair:
    return Keypair.from_seed(sha256(f"tidemark localnet {name}".encode()).digest())


@functools.cache
def validators(count: int) -> tuple[Validator, ...]:
    """The first of them."""
    return tuple(_validator(number) for number in range(count))


def _validator(number: int) -> Validator:
    voter = _keypair(f"vote {number}")
    return Validator(
        identity=_keypair(f"identity {number}"),
        voter=voter,
        vote=voter.pubkey(),
        stake=_keypair(f"stake {number}").pubkey(),
    )


# Of a chain that is not said to have fewer or more.
VALIDATORS = validators(VALIDATOR_COUNT)
FAUCET = _keypair("faucet")
# A stake that is locked up for good: what does not circulate.
LOCKED_STAKE = _keypair("locked stake").pubkey()
TIP_ACCOUNTS = tuple(
    _keypair(f"tip account {number}").pubkey() for number in range(TIP_ACCOUNT_COUNT)
)
