"""The keypair of a tip address, from the seed and where the address stands."""

from solders.keypair import Keypair

from chain.derived_keys import derived_keypair


def tip_keypair(
    seed: bytes, *, epoch: str, ttl_seconds: int, number: int, position: int
) -> Keypair:
    """The same one for ever. Batches of before there were epochs have an empty one."""
    place = (ttl_seconds, number, position)
    return derived_keypair(seed, "tip", *((epoch,) if epoch else ()), *place)
