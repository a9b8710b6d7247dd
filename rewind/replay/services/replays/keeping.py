"""Keeps replays for links that show them again: one at a time of a customer, and so many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from solders.signature import Signature

from rewind.replay.models import Replay
from rewind.replay.services.replays.requests import ReplayRequest
from rewind.replay.services.replays.results import ReplayResult
from rewind.replay.services.replays.sentences import outcome_of
from rewind.replay.store import replay_locks
from rewind.replay.store import replays as store
from staff.errors import ActionRefused

# Uploads that no replay used are kept so long.
_IDLE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes a replay, for which customer (None: staff), and the key that it counts on."""

    name: str
    customer_id: int | None = None
    key_id: int | None = None


def make(
    request: ReplayRequest,
    run: Callable[[], ReplayResult],
    *,
    by: Maker,
    signatures: Sequence[Signature],
    bundle_id: str = "",
    note: str = "",
    most: int,
    now: datetime,
) -> Replay:
    """Runs and keeps a replay. Of a customer's replays the newest `most` are kept. Raises
    ActionRefused while another one of the customer runs, and what `run` raises.
    """
    with replay_locks.held(by.name if by.customer_id is None else str(by.customer_id)) as is_alone:
        if not is_alone:
            raise ActionRefused("Another replay of yours is running: wait until it has ended.")
        result = run()
    made = store.create(
        customer_id=by.customer_id,
        key_id=by.key_id,
        made_by=by.name,
        made_at=now,
        note=note,
        signatures=list(signatures),
        bundle_id=bundle_id,
        slot=result.slot,
        build_id=None if request.program is None else request.program.upload_id,
        outcome=outcome_of(result, is_altered=request.is_altered),
        request=msgspec.to_builtins(request),
        result=msgspec.json.encode(result),
    )
    store.trim(by.customer_id, most=most)
    return made


def request_of(replay: Replay) -> ReplayRequest | None:
    """None where another version of the service kept it in a form that this one cannot read."""
    try:
        return msgspec.convert(replay.request, ReplayRequest)
    except msgspec.ValidationError:
        return None


def result_of(replay: Replay) -> ReplayResult | None:
    """The same of its result."""
    try:
        return msgspec.json.decode(bytes(replay.result), type=ReplayResult)
    except msgspec.DecodeError:
        return None


def forget(*, kept: timedelta | None, now: datetime) -> int:
    """Deletes replays older than that, None for none, and uploads that none uses: how many
    replays.
    """
    gone = 0 if kept is None else store.delete_before(now - kept)
    store.delete_idle_builds(now - _IDLE)
    return gone
