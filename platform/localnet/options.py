"""Options: how a localnet is run."""

from dataclasses import dataclass
from pathlib import Path

from solders.account import Account
from solders.pubkey import Pubkey

from chain.units import Slot


@dataclass(frozen=True, slots=True)
class Options:
    """Where it listens and keeps its chain, and how fast that goes."""

    folder: Path
    host: str
    rpc_port: int
    geyser_port: int
    tpu_port: int
    block_engine_port: int
    slot_seconds: float
    finalized_after: int
    skip_percent: int
    epoch_slots: int
    epoch_slots_given: bool  # on the command line: an existing chain must agree
    validators: int
    validators_given: bool
    warp_slot: Slot | None
    reset: bool
    votes: bool
    token_2022_mint: bool  # Token-2022's native mint is in genesis
    searcher_tokens: bool  # the block engine's gRPC asks for them
    accounts: dict[Pubkey, Account]

    @property
    def searcher_port(self) -> int:
        """Where the block engine's gRPC is."""
        return self.block_engine_port + 1

    @property
    def pubsub_port(self) -> int:
        """Where clients look for a node's WebSocket."""
        return self.rpc_port + 1
