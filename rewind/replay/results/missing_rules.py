"""`context.missingRules`: what the chain has and the engine of this build does not."""

from collections.abc import Collection
from typing import Annotated

from msgspec import UNSET, UnsetType
from solders.pubkey import Pubkey

from jsonrpc.wire import As, Result
from simulator.missing_rules import Kind, MissingRule


class MissingRuleEntry(Result, frozen=True, kw_only=True):
    """A rule of the chain that the engine does not have: a run may end otherwise than on the chain.

    kind: `feature`: it is active in that slot; `program`: a transaction names it, a builtin or a
        precompile; `sysvar`: a transaction names it
    address: the feature's, the program's or the sysvar's
    name: what Agave calls the feature; null if this build does not know it, and for others
    """

    kind: Kind
    address: Annotated[str, As(Pubkey)]
    name: str | None


def entries(missing: Collection[MissingRule]) -> list[MissingRuleEntry] | UnsetType:
    """The member of a context: absent if nothing is missing."""
    if not missing:
        return UNSET
    return [
        MissingRuleEntry(kind=each.kind, address=str(each.address), name=each.name)
        for each in missing
    ]
