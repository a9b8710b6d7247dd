"""Configs that several of the ledger's methods take."""

from typing import Literal

from chain.commitment import Commitment
from jsonrpc.params import U64, Config


class ContextConfig(Config, frozen=True, kw_only=True):
    """What every method takes.

    commitment: everything in the ledger is finalized; `confirmed` and `finalized` are served alike
    min_context_slot: refuse to answer unless the ledger reaches this slot
    """

    commitment: Commitment | None = None
    min_context_slot: U64 | None = None


class BlocksConfig(ContextConfig, frozen=True, kw_only=True):
    """What every method takes, and what is to happen where slots of the range are missing.

    gaps: `error` refuses a range of which slots are known to be missing. Left out, the list is
        answered, and the header `X-Ledger-Gaps` names these slots. No option of the standard node
    """

    gaps: Literal["error"] | None = None
