"""How far the archive is proven, what is refuted, and why the proof does not go on."""

from datetime import UTC, datetime

import msgspec
import redis

from rewind.proof.services import slot_proofs, stake_turns
from shared_state import task_faults

# As rewind/tasks.py names them.
_TASKS = ("prove_archive", "count_stakes")


class ProofReading(msgspec.Struct, frozen=True):
    """Runs of refuted slots, the newest of them first; `through` is the highest proven slot,
    `consistent` the highest that is proven or consistent, and `lag` how many slots the newest
    computed one is above that, each None if there is none. Why a task of the proof fails, empty if
    none does. How stakes that follow from the archive's accounts differ from a snapshot's, empty
    if they agree.
    """

    refuted: list[tuple[int, int]] = []
    through: int | None = None
    consistent: int | None = None
    lag: int | None = None
    fault: str = ""
    failing_since: datetime | None = None
    stakes_differ: str = ""


def read_proof() -> ProofReading:
    state = slot_proofs.overview()
    fault, since = "", None
    try:
        faults = task_faults.read()
        found = next((faults[task] for task in _TASKS if task in faults), None)
    except redis.RedisError:
        found = None
    if found is not None:
        fault, since = found.reason, datetime.fromtimestamp(found.since, UTC)
    differ = stake_turns.difference()
    return ProofReading(state.refuted, *state.through, state.lag, fault, since, differ)
