"""Tip: where the chain is at each commitment, for the calls that ask."""

from typing import NamedTuple

from livefeed.messages import Level
from yellowstone.content import Content

# A blockhash is good for so many blocks.
_VALID_BLOCKS = 150
_KEPT_SLOTS = 1_000


class Block(NamedTuple):
    """A block; `block_height` counts blocks, not slots."""

    slot: int
    parent: int
    blockhash: str
    block_height: int

    @property
    def last_valid_block_height(self) -> int:
        return self.block_height + _VALID_BLOCKS


class Tip:
    """The blocks of the last slots, and the newest of each level."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._newest: dict[Level, Block] = {}

    def take(self, content: Content) -> None:
        """A slot reached a level."""
        meta = content.meta
        if meta is None or not meta.HasField("block_height"):
            return
        block = Block(meta.slot, meta.parent_slot, meta.blockhash, meta.block_height.block_height)
        self._blocks[block.slot] = block
        while len(self._blocks) > _KEPT_SLOTS:
            del self._blocks[min(self._blocks)]
        known = self._newest.get(content.level)
        if known is None or known.slot < block.slot:
            self._newest[content.level] = block

    def newest(self, level: Level) -> Block | None:
        return self._newest.get(level)

    def accepts(self, block: Block, blockhash: str) -> bool:
        """Whether a transaction that names the blockhash may come after the block."""
        lowest = block.block_height - _VALID_BLOCKS
        found: Block | None = block
        while found is not None and found.block_height >= lowest:
            if found.blockhash == blockhash:
                return True
            found = self._blocks.get(found.parent)
        return False
