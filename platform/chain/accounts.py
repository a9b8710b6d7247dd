"""An account's state, and a write of it."""

from typing import NamedTuple

# The most data that an account of the chain has.
MOST_ACCOUNT_BYTES = 10 * 1024 * 1024


class AccountWrite(NamedTuple):
    """One account as a write left it: pubkey and owner of 32 bytes, lamports, rent_epoch a u64.

    `write_version` counts the writes of one validator process and orders those of one account
    within a slot; it says nothing between validators. `signature` is the 64-byte first signature
    of the transaction that wrote, None for writes outside transactions. A closed account has 0
    lamports.
    """

    pubkey: bytes
    lamports: int
    owner: bytes
    data: bytes
    executable: bool
    rent_epoch: int
    write_version: int
    signature: bytes | None
