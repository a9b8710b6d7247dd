"""Events of announced fates: their ids, their bytes, and those after an id."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import ResponseError
from solders.signature import Signature

from jsonrpc.wire import encode
from priority.fates.results import FateEvent
from priority.fates.services.announcing import (
    FIELD,
    KEPT_SECONDS,
    LIVE_STREAM,
    SINCE,
    FateChange,
    key_stream,
    unpack,
)
from priority.submissions import sending

_TEXT = re.compile(r"(\d{1,15})-(\d{1,15})(?:-(\d{1,9}))?").fullmatch
_WHOLE = 1_000_000_000


class Place(NamedTuple):
    """A place in what was announced: an entry's id, and the change in it; by default its last."""

    milliseconds: int
    sequence: int
    number: int = _WHOLE

    def __str__(self) -> str:
        entry = f"{self.milliseconds}-{self.sequence}"
        return entry if self.number == _WHOLE else f"{entry}-{self.number}"


class FateMessage(NamedTuple):
    """One change as it is sent to the key's customer: its place, the fate as JSON, and the bytes of
    the server-sent event.
    """

    place: Place
    signature: bytes
    data: bytes
    text: bytes


class History(NamedTuple):
    """The announcements after a place, in order; `is_whole` is False if some were deleted."""

    messages: list[FateMessage]
    is_whole: bool


def read_place(text: str | bytes) -> Place | None:
    """The place that the text names, or None."""
    match = _TEXT(text.decode("ascii", "replace") if isinstance(text, bytes) else text)
    if match is None:
        return None
    return Place(*(int(part) for part in match.groups() if part is not None))


def messages(
    entry: bytes, changes: Iterable[tuple[int, FateChange]]
) -> list[tuple[FateChange, FateMessage]]:
    """The changes of the entry with this id, each with its message."""
    place = read_place(entry)
    assert place is not None
    return [(change, _message(place._replace(number=number), change)) for number, change in changes]


def event_text(name: str, data: bytes, identity: str = "") -> bytes:
    """An event on the wire; `identity` is the reader's place after it."""
    line = f"id: {identity}\n" if identity else ""
    return f"event: {name}\n{line}data: ".encode() + data + b"\n\n"


def event(change: FateChange) -> FateEvent:
    """A change as an event of the stream."""
    return FateEvent(
        signature=str(Signature.from_bytes(change.signature)),
        state=change.state,
        final=change.settled,
        commitment=change.commitment or None,
        slot=change.slot,
        transaction_index=change.transaction_index,
        err=change.err,
        reason=change.reason or None,
        bundle_id=change.bundle_id or None,
        queue_milliseconds=change.queue_ms,
        sending=sending(change.state, change.stopped, settled=change.settled),
        sending_stopped=change.stopped or None,
        at=change.at.timestamp(),
    )


def _message(place: Place, change: FateChange) -> FateMessage:
    data = encode(event(change))
    return FateMessage(place, change.signature, data, event_text("fate", data, str(place)))


async def since(redis: Redis, key_ids: Sequence[int], place: Place) -> History:
    """The keys' announcements after the place. Raises redis.RedisError."""
    # Read at one moment: later announcements reach the subscription, which is open already.
    pipeline = redis.pipeline(transaction=True)
    pipeline.time()
    pipeline.get(SINCE)
    pipeline.xrevrange(LIVE_STREAM, count=1)
    first = f"{place.milliseconds}-{place.sequence}"
    for key_id in key_ids:
        pipeline.xinfo_stream(key_stream(key_id))
        pipeline.xrange(key_stream(key_id), min=first)
    (seconds, _), began, newest, *streams = await pipeline.execute(raise_on_error=False)
    began_at = None if began is None else read_place(began)
    # This Redis' announcements begin later, or end before: it lost its data since.
    is_whole = began_at is not None and place >= began_at._replace(number=0)
    if is_whole and newest:
        is_whole = place[:2] <= (read_place(newest[0][0]) or place)[:2]
    is_recent = place.milliseconds >= (seconds - KEPT_SECONDS) * 1_000
    found: list[FateMessage] = []
    for information, entries in zip(streams[::2], streams[1::2], strict=True):
        is_whole = is_whole and _is_kept(information, place, is_recent=is_recent)
        for name, fields in entries if isinstance(entries, list) else ():
            found += [each for _, each in messages(name, unpack(fields[FIELD]))]
    return History(sorted(each for each in found if each.place > place), is_whole)


def _is_kept(information: Any, place: Place, *, is_recent: bool) -> bool:
    """Whether a key's stream still has everything behind the place."""
    if isinstance(information, ResponseError):
        return is_recent  # there is no stream: nothing was announced for as long as it is kept
    entry = information["first-entry"]
    if entry is not None and (read_place(entry[0]) or place) <= place:
        return True
    untouched = information.get("entries-added", information["length"]) == information["length"]
    return is_recent and untouched
