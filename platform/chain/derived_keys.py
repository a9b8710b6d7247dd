"""Keypairs derived from one secret seed and a path: only the seed has to be stored."""

import hmac
from hashlib import sha512

from solders.keypair import Keypair


def derived_keypair(seed: bytes, *path: str | int) -> Keypair:
    """The keypair at the path, always the same. It cannot be derived from other keypairs of the
    seed.
    """
    text = "\0".join(map(str, path)).encode()
    return Keypair.from_seed(hmac.digest(seed, b"tidemark\0" + text, sha512)[:32])
