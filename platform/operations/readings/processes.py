"""Which processes there should be, and which are alive."""

import socket
from datetime import UTC, datetime

import msgspec
import redis
from django.conf import settings

from access import heartbeats
from rewind.models import ArchiveState

# What each kind does, for who reads that it is missing.
DUTIES = {
    "web": "answers calls and shows these pages",
    "worker": "does what clocks start: rotation, sweeps, samples, alarms, mails",
    "ingest": "stores slots",
    "simulations": "runs simulation jobs and the replay audit",
    "follower": "reads the chain's stream",
    "lander": "sends what was accepted",
    "beat": "is the clock that starts tasks",
    "localnet": "is the small Solana of this machine",
}


class ProcessReading(msgspec.Struct, frozen=True):
    """Processes of one kind. `heard_at` is None for one that was never heard."""

    kind: str
    alive: int
    heard_at: datetime | None


def read_processes(now: datetime, *, newest_slot: int | None) -> list[ProcessReading] | None:
    """Every kind that should be there; None while Redis is away."""
    try:
        heard = heartbeats.kinds(now=now.timestamp())
    except redis.RedisError:
        return None
    found = []
    for kind in _expected(newest_slot):
        if kind == "localnet":
            found.append(ProcessReading(kind, int(_listens()), None))
            continue
        beat = heard.get(kind)
        at = None if beat is None else datetime.fromtimestamp(beat.heard_at, UTC)
        found.append(ProcessReading(kind, 0 if beat is None else beat.alive, at))
    return found


def _expected(newest_slot: int | None) -> list[str]:
    """As `manage.py run` starts them."""
    is_followed = bool(settings.UPSTREAM_GEYSER_URL or settings.UPSTREAM_RPC_URL)
    left_out = set()
    if not is_followed:
        left_out |= {"follower", "lander"}
    if not settings.LOCALNET:
        left_out.add("localnet")
    elif newest_slot is not None and not ArchiveState.objects.exclude(filters_set_for="").exists():
        left_out.add("follower")  # the ledger holds imported blocks, localnet is another chain
    return [kind for kind in DUTIES if kind not in left_out]


def _listens() -> bool:
    """Localnet uses no Redis; it lives on this machine."""
    try:
        address = (settings.LOCALNET_HOST, settings.LOCALNET_RPC_PORT)
        socket.create_connection(address, timeout=0.2).close()
    except OSError:
        return False
    return True
