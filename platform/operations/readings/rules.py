"""Rules of the chain that the engine of this build does not have."""

import logging

import msgspec

from jsonrpc.errors import RpcError
from rewind.replay.services import features

log = logging.getLogger(__name__)


class MissingReading(msgspec.Struct, frozen=True):
    """A missing rule: `feature`, `program` or `sysvar`, its address, and Agave's name, if any."""

    kind: str
    address: str
    name: str | None = None


class RulesReading(msgspec.Struct, frozen=True):
    """What of the archived chain the engine does not have."""

    missing: list[MissingReading] = []

    def of_kind(self, kind: str) -> list[MissingReading]:
        return [each for each in self.missing if each.kind == kind]


def read_rules() -> RulesReading:
    """As the archive knows it. Nothing while it cannot be read, which other alarms report."""
    try:
        found = features.missing_now()
    except RpcError as fault:
        log.warning("the rules of the chain cannot be read: %s", fault)
        return RulesReading()
    return RulesReading([MissingReading(each.kind, str(each.address), each.name) for each in found])
