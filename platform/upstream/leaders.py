"""A cluster's leader schedule and its leaders' TPU ports, from a node."""

import math
import threading
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

from solders.pubkey import Pubkey

from chain.units import Slot
from upstream.head_bound import MOST_SLOT
from upstream.networks import is_public, is_unusable
from upstream.node import Node, NodeError, NodeUnreachable
from upstream.tpu_socket import Address

# A node answers for no more slots at a time.
_PAGE_SLOTS = 5_000
# An hour and more, even of slots of 200 ms, in which the node may be away.
_AHEAD_SLOTS = 20_000
# A slot clock may be a little behind.
_BEHIND_SLOTS = 500
# As far as transactions are sent ahead at all.
_LOOK_AHEAD_SLOTS = 100
_ADDRESS_SECONDS = 300.0
# Some leaders have no address for days: no reason to ask for all of them at every turn of theirs.
_MISSED_ADDRESS_SECONDS = 60.0
_PAUSE_SECONDS = 2.0
# A node without `tpuQuic` in its contact information listens this far above `tpu`.
_QUIC_PORT_OFFSET = 6
_INVALID_PARAMS = -32602


class Leader(NamedTuple):
    """A leader and the first of its slots that was asked for; `address` is None if it is not
    where it listens.
    """

    identity: Pubkey
    first_slot: Slot
    address: Address | None


class _Turns(NamedTuple):
    """The leaders of the slots from `first` on, one each."""

    first: int
    leaders: Sequence[Pubkey]

    @property
    def end(self) -> int:
        return self.first + len(self.leaders)


class LeaderSchedule:
    """Look-ups are pure and at once; `refresh` asks the node, in any thread. What is known stays
    when the node is away.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        # Replaced whole, so that a look-up in another thread sees one or the other.
        self._turns = _Turns(0, ())
        self._addresses: Mapping[Pubkey, Address | None] = {}
        self._genesis_hash = ""
        self._addresses_at = -math.inf
        self._tried_at = -math.inf
        self._is_address_missing = False

    def upcoming(self, slot: int, count: int) -> list[Leader]:
        """The leaders of this slot and the next ones, each once, at most `count` and as far as 100
        slots; fewer where the schedule is not known.
        """
        turns = self._turns
        found: dict[Pubkey, Leader] = {}
        last = slot + _LOOK_AHEAD_SLOTS
        if slot < turns.first:
            return []
        for each in range(slot, min(last, turns.end)):
            if len(found) >= count:
                break
            identity = turns.leaders[each - turns.first]
            if identity not in found:
                address = self._addresses.get(identity)
                self._is_address_missing |= address is None
                found[identity] = Leader(identity, Slot(each), address)
        return list(found.values())

    def is_due(self, slot: int, now: float) -> bool:
        """Whether to refresh: the schedule is not known as far as one looks ahead, or the addresses
        are old. `now` is of one monotonic clock.
        """
        if now - self._tried_at < _PAUSE_SECONDS:
            return False
        turns = self._turns
        return (
            not turns.first <= slot < turns.end - _LOOK_AHEAD_SLOTS
            or now - self._addresses_at >= self._address_seconds()
        )

    def refresh(self, slot: int, now: float) -> None:
        """Asks the node for the leaders around this slot that are not known, and for all addresses
        if they are old. Raises NodeError; what was known and what came before it is kept.
        """
        with self._lock:
            self._tried_at = now
            genesis_hash = self._node.genesis_hash()
            if genesis_hash != self._genesis_hash:
                # Another chain: the old schedule does not apply.
                self._turns = _Turns(0, ())
                self._addresses = {}
                self._addresses_at = -math.inf
                self._genesis_hash = genesis_hash
            self._extend(slot)
            if now - self._addresses_at >= self._address_seconds():
                self._addresses = _addresses(self._node)
                self._addresses_at = now
                self._is_address_missing = False

    def _address_seconds(self) -> float:
        return _MISSED_ADDRESS_SECONDS if self._is_address_missing else _ADDRESS_SECONDS

    def _extend(self, slot: int) -> None:
        turns = self._turns
        first = max(0, slot - _BEHIND_SLOTS)
        if turns.first <= slot < turns.end:
            first = max(turns.first, first)
            leaders = list(turns.leaders[first - turns.first :])
        else:
            leaders = []
        while (start := first + len(leaders)) < slot + _AHEAD_SLOTS:
            page = _page(self._node, start)
            leaders += page
            self._turns = _Turns(first, tuple(leaders))
            if len(page) < _PAGE_SLOTS:
                break  # more is not decided yet


def _page(node: Node, start: int) -> list[Pubkey]:
    """The leaders of up to 5,000 slots, less where the schedule is known for less."""
    try:
        return _slot_leaders(node, start, _PAGE_SLOTS)
    except NodeError as error:
        if error.code != _INVALID_PARAMS:
            raise
        refusal = error
    this_end, next_end = _epoch_ends(node)
    for end in (next_end, this_end):
        limit = min(end - start, _PAGE_SLOTS - 1)
        if limit > 0:
            try:
                return _slot_leaders(node, start, limit)
            except NodeError as error:
                if error.code != _INVALID_PARAMS:
                    raise
    if start >= this_end:
        return []
    raise refusal


def _slot_leaders(node: Node, start: int, limit: int) -> list[Pubkey]:
    found = node.call("getSlotLeaders", start, limit)
    if not isinstance(found, list) or len(found) > limit:
        raise NodeUnreachable(f"{node.name}: getSlotLeaders answered no list of leaders")
    known: dict[str, Pubkey] = {}
    try:
        for text in found:
            if text not in known:
                known[text] = Pubkey.from_string(text)
    except (TypeError, ValueError):
        raise NodeUnreachable(f"{node.name}: getSlotLeaders answered no pubkey") from None
    return [known[text] for text in found]


def _epoch_ends(node: Node) -> tuple[int, int]:
    """The slots behind the epoch that the node is in, and behind the next."""
    found = node.call("getEpochInfo")
    names = ("absoluteSlot", "slotIndex", "slotsInEpoch")
    value: list[Any] = [found.get(name) for name in names] if isinstance(found, dict) else [None]
    if not all(type(each) is int and 0 <= each <= MOST_SLOT for each in value):
        raise NodeUnreachable(f"{node.name}: getEpochInfo answered no epoch")
    slot, index, slots = value
    return slot - index + slots, slot - index + 2 * slots


def _addresses(node: Node) -> dict[Pubkey, Address | None]:
    """Every node's TPU port for QUIC; None where it has none or an impossible one."""
    found = node.call("getClusterNodes")
    if not isinstance(found, list):
        raise NodeUnreachable(f"{node.name}: getClusterNodes answered no list of nodes")
    private_allowed = node.is_private
    addresses: dict[Pubkey, Address | None] = {}
    for each in found:
        try:
            identity = Pubkey.from_string(each["pubkey"])
            addresses[identity] = quic_address(each, private_allowed=private_allowed)
        except (KeyError, TypeError, ValueError):
            continue  # one node's nonsense is no reason to lose the others
    return addresses


def quic_address(contact: Mapping[str, Any], *, private_allowed: bool) -> Address | None:
    """Where a node of getClusterNodes takes transactions over QUIC. Any member of the cluster may
    write any address there: `private_allowed` is for a node that is itself at a private one.
    """
    value = contact.get("tpuQuic")
    if value is not None:
        return _address(value, 0, private_allowed)
    return _address(contact.get("tpu"), _QUIC_PORT_OFFSET, private_allowed)


def _address(value: Any, offset: int, private_allowed: bool) -> Address | None:
    """`host:port` or `[host]:port`, with so much added to the port."""
    if not isinstance(value, str):
        return None
    host, _, port_text = value.rpartition(":")
    if not (port_text.isascii() and port_text.isdigit() and len(port_text) <= 5):
        return None
    port = int(port_text)
    try:
        ip = ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return None
    if port == 0 or port + offset > 65_535 or is_unusable(ip):
        return None
    if not private_allowed and not is_public(ip):
        return None
    return str(ip), port + offset
