"""The keypair of a tip address, derived from the seed."""

from solders.keypair import Keypair

from chain.derived_keys import derived_keypair


def tip_keypair(
    seed: bytes, *, epoch: str, ttl_seconds: int, number: int, position: int
) -> Keypair:
    """Always the same for the same path. Batches older than epochs have an empty `epoch`."""
    path = (ttl_seconds, number, position)
    return derived_keypair(seed, "tip", *((epoch,) if epoch else ()), *path)
