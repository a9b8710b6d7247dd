"""Keypairs made from one secret seed and a path of words: nothing but the seed is to be kept."""

import hmac
from hashlib import sha512

from solders.keypair import Keypair

SEED_BYTES = 32


def derived_keypair(seed: bytes, *path: str | int) -> Keypair:
    """The keypair at the path, the same one for ever; who knows other keypairs of the seed, or all
    of them, cannot tell this one.
    """
    text = "\0".join(map(str, path)).encode()
    return Keypair.from_seed(hmac.digest(seed, b"tidemark\0" + text, sha512)[:32])
