"""Entries: a block's chain of hashes, which orders its transactions and ends in its blockhash."""

from hashlib import sha256

from solders.hash import Hash

# A tick a slot instead of 64 with thousands of hashes each: nothing waits for this clock.
HASHES_PER_TICK = 2


class HashChain:
    """Goes on from the parent's blockhash, entry by entry."""

    def __init__(self, parent_blockhash: Hash) -> None:
        self.hash = bytes(parent_blockhash)
        self.entry_count = 0

    def record(self, signatures: list[bytes]) -> bytes:
        """The hash of an entry that holds the transactions with these signatures."""
        self.hash = sha256(self.hash + sha256(b"".join(signatures)).digest()).digest()
        self.entry_count += 1
        return self.hash

    def tick(self, slots: int) -> tuple[int, bytes]:
        """The last entry's count of hashes and its hash. It has ticked through the skipped slots
        before it too, so that two blocks on one parent have different blockhashes.
        """
        count = HASHES_PER_TICK * slots
        for _ in range(min(count, 1_000_000)):
            self.hash = sha256(self.hash).digest()
        self.entry_count += 1
        return count, self.hash
