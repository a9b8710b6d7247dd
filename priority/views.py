"""The GET doors of landing: fates, the way to their stream, and the tip floor."""

from typing import Annotated
from urllib.parse import parse_qs

from django.conf import settings
from msgspec import Meta
from solders.signature import Signature

from gateway.declarations import Parameter
from gateway.reading import Asked
from jsonrpc.wire import As
from priority.errors import BadQuery, StreamElsewhere
from priority.results import BundleFate, Fate, TipFloor
from priority.services import fates, stream_tickets, tip_floor

_MOST = 256
_LIMIT = 100
_WINDOWS = ", ".join(map(str, tip_floor.WINDOWS))

NEWEST = (
    Parameter("limit", Annotated[int, Meta(ge=1, le=_MOST)], "how many", default=str(_LIMIT)),
    Parameter("before", Signature, "go on behind this one of yours: the last of the page before"),
)
STREAM = (
    Parameter("signature", Signature, "of these alone: one, several with commas, or given again"),
    Parameter(
        "last_event_id",
        str,
        "begin behind this event, as the header `Last-Event-ID` does where a client can send it",
    ),
)
FLOOR = (
    Parameter(
        "window",
        int,
        f"over how many seconds: one of {_WINDOWS}",
        default=str(tip_floor.DEFAULT_WINDOW),
    ),
)


def transaction_fate(asked: Asked, signature: Annotated[str, As(Signature)]) -> Fate:
    """What became of a transaction that your keys submitted here, with every attempt.

    signature: the transaction's signature
    """
    asked.spend_request()
    return fates.fate(
        _signature("signature", signature),
        key_id=asked.caller.key_id,
        kept_days=settings.SUBMISSION_DAYS,
    )


def newest_fates(asked: Asked) -> list[Fate]:
    """What your keys submitted last, newest first, without the attempts."""
    asked.spend_request()
    query = _query(asked)
    assert asked.caller.key_id is not None  # the terms ask for a key
    return fates.newest_fates(
        key_id=asked.caller.key_id,
        limit=_limit(query.get("limit")),
        before=_signature("before", query["before"]) if "before" in query else None,
        kept_days=settings.SUBMISSION_DAYS,
    )


def bundle_fate(asked: Asked, bundle_id: str) -> BundleFate:
    """What became of a bundle that your keys submitted here, and of its transactions.

    bundle_id: its id, or one signature of it
    """
    asked.spend_request()
    return fates.bundle_fate(
        bundle_id, key_id=asked.caller.key_id, kept_days=settings.SUBMISSION_DAYS
    )


def fate_stream(asked: Asked) -> None:
    """Fates as they change, as server-sent events. The answer here is a redirect (307) to the
    process that streams: let your client follow it. The event `ready` comes first; then an event
    `fate` for each change of a submission of yours; `gap` where changes behind `Last-Event-ID` are
    not kept any more; `end` with a word when the stream is closed. A line with a colon alone comes
    every 12 seconds.
    """
    asked.spend_request()
    query = stream_tickets.with_ticket(asked.meta)
    raise StreamElsewhere(f"{_stream_base(asked)}/priority/fates/stream?{query}")


def landed_tips(asked: Asked) -> list[TipFloor]:
    """How much the tips that landed of late were: what to tip, so as to land among the others."""
    asked.spend_request()
    text = _query(asked).get("window", str(tip_floor.DEFAULT_WINDOW))
    if text not in map(str, tip_floor.WINDOWS):
        raise BadQuery("window", f"one of {_WINDOWS} (seconds)", text)
    return [tip_floor.tip_floor(int(text), now=asked.now)]


def _query(asked: Asked) -> dict[str, str]:
    found = parse_qs(asked.query, keep_blank_values=True)
    return {name: values[-1] for name, values in found.items()}


def _signature(name: str, text: str) -> Signature:
    try:
        return Signature.from_string(text)
    except ValueError:
        raise BadQuery(name, "a signature in base58", text) from None


def _limit(text: str | None) -> int:
    if text is None:
        return _LIMIT
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= _MOST):
        raise BadQuery("limit", f"a number from 1 to {_MOST}", text)
    return int(text)


def _stream_base(asked: Asked) -> str:
    """The stream's process as the caller reaches it: where the setting says, else on this host."""
    if settings.FATES_URL:
        return str(settings.FATES_URL).rstrip("/")
    host: str = asked.meta.get("HTTP_HOST") or asked.meta.get("SERVER_NAME", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return f"{asked.request.scheme}://{name}:{settings.FATES_PORT}"
