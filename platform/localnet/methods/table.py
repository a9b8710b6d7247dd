"""The table of localnet's methods, and what they all share: the node, the block asked for."""

from dataclasses import dataclass
from typing import Any

from chain.commitment import Commitment
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64, Config
from localnet.bank import Bank
from localnet.clock import Clock
from localnet.errors import MinContextSlotNotReached
from localnet.faults import Faults
from localnet.ledger import Ledger
from localnet.options import Options
from localnet.servers.datagrams import DatagramPorts

# What the engine's code is of, which is the ledger's default too (LEDGER_API_VERSION), and a
# feature set's number as a node shows one.
VERSION = "4.1.2"
FEATURE_SET = 3_294_202_862

methods = MethodTable()


@dataclass(frozen=True, slots=True)
class Node:
    """What a method is called with."""

    ledger: Ledger
    faults: Faults
    options: Options
    clock: Clock
    datagram_ports: DatagramPorts


class ContextConfig(Config, frozen=True, kw_only=True):
    """What most methods take."""

    commitment: Commitment | None = None
    min_context_slot: U64 | None = None


class CommitmentConfig(ContextConfig, frozen=True, kw_only=True):
    """What a few methods take, whose config must name the commitment where one is given."""

    commitment: Commitment


def bank_for(node: Node, config: ContextConfig) -> Bank:
    """The newest block of the commitment asked for, if it is new enough."""
    bank = node.ledger.latest(config.commitment or Commitment.FINALIZED)
    if config.min_context_slot is not None and bank.slot < config.min_context_slot:
        raise MinContextSlotNotReached(bank.slot)
    return bank


def in_context(bank: Bank, value: Any) -> dict[str, Any]:
    """A value with the slot that it was true at."""
    return {"context": {"apiVersion": VERSION, "slot": bank.slot}, "value": value}
