"""The table of localnet's methods, and what they all share: the node, the block asked for."""

from dataclasses import dataclass
from typing import Any

from chain.commitment import Commitment, TransactionEncoding
from chain.node_version import BASE58_REFUSED, NEWEST, refuses_base58
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64, Config
from localnet.bank import Bank
from localnet.clock import Clock
from localnet.errors import BadParams, MinContextSlotNotReached
from localnet.faults import Faults
from localnet.ledger import Ledger
from localnet.options import Options
from localnet.servers.datagrams import DatagramPorts

methods = MethodTable(as_node=True)


@dataclass(frozen=True, slots=True)
class Node:
    """What a method is called with."""

    ledger: Ledger
    faults: Faults
    options: Options
    clock: Clock
    datagram_ports: DatagramPorts


class ContextConfig(Config, frozen=True, kw_only=True):
    """What most methods take. A commitment that does not exist is none, as for a node."""

    node_struct = "RpcContextConfig"
    node_drops = frozenset({"commitment"})

    commitment: Commitment | None = None
    min_context_slot: U64 | None = None


class CommitmentConfig(Config, frozen=True, kw_only=True):
    """What a few methods take, whose config must name the commitment where one is given."""

    node_struct = "CommitmentConfig"
    node_sequence = True

    commitment: Commitment

    def context(self) -> ContextConfig:
        """The same as other methods take it."""
        return ContextConfig(commitment=self.commitment)


def bank_for(node: Node, config: ContextConfig) -> Bank:
    """The newest block of the commitment asked for, if it is new enough."""
    bank = node.ledger.latest(config.commitment or Commitment.FINALIZED)
    if config.min_context_slot is not None and bank.slot < config.min_context_slot:
        raise MinContextSlotNotReached(bank.slot)
    return bank


def require_readable(encoding: TransactionEncoding | None, max_version: int | None) -> None:
    """As the node, before anything is looked up."""
    if refuses_base58(NEWEST, encoding, max_version):
        raise BadParams(BASE58_REFUSED)


def in_context(bank: Bank, value: Any) -> dict[str, Any]:
    """A value with the slot that it was true at."""
    return {"context": {"apiVersion": NEWEST.name, "slot": bank.slot}, "value": value}
