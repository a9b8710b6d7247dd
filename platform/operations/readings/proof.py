"""How far the archive is proven, what is refuted, and why the proof does not go on."""

from datetime import UTC, datetime

import msgspec
import redis

from rewind.services import slot_proofs
from shared_state import task_faults

# As rewind/tasks.py names it.
TASK = "prove_archive"


class ProofReading(msgspec.Struct, frozen=True):
    """Runs of refuted slots, the newest of them first; `through` is the highest proven slot,
    `consistent` the highest that is proven or consistent, and `lag` how many slots the newest
    computed one is above that, each None if there is none. Why the task fails, empty if it does
    not.
    """

    refuted: list[tuple[int, int]] = []
    through: int | None = None
    consistent: int | None = None
    lag: int | None = None
    fault: str = ""
    failing_since: datetime | None = None


def read_proof() -> ProofReading:
    state = slot_proofs.overview()
    fault, since = "", None
    try:
        found = task_faults.read().get(TASK)
    except redis.RedisError:
        found = None
    if found is not None:
        fault, since = found.reason, datetime.fromtimestamp(found.since, UTC)
    return ProofReading(state.refuted, *state.through, state.lag, fault, since)
