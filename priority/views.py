"""The GET doors of landing: fates, the way to their stream, and the tip floor."""

from urllib.parse import parse_qs

from django.conf import settings
from solders.signature import Signature

from gateway.reading import Asked
from priority.errors import BadQuery, StreamElsewhere
from priority.results import BundleFate, Fate, TipFloor
from priority.services import fates, stream_tickets, tip_floor

_MOST = 256
_LIMIT = 100


def transaction_fate(asked: Asked, signature: str) -> Fate:
    """GET /priority/fate/{signature}"""
    asked.spend_request()
    return fates.fate(
        _signature("signature", signature),
        key_id=asked.caller.key_id,
        kept_days=settings.SUBMISSION_DAYS,
    )


def newest_fates(asked: Asked) -> list[Fate]:
    """GET /priority/fates?limit=&before="""
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
    """GET /bundle/fate/{bundle_id}"""
    asked.spend_request()
    return fates.bundle_fate(
        bundle_id, key_id=asked.caller.key_id, kept_days=settings.SUBMISSION_DAYS
    )


def fate_stream(asked: Asked) -> None:
    """GET /priority/fates/stream, which another process answers: the way there."""
    asked.spend_request()
    query = stream_tickets.with_ticket(asked.meta)
    raise StreamElsewhere(f"{_stream_base(asked)}/priority/fates/stream?{query}")


def landed_tips(asked: Asked) -> list[TipFloor]:
    """GET /priority/tipfloor?window="""
    asked.spend_request()
    text = _query(asked).get("window", str(tip_floor.DEFAULT_WINDOW))
    if text not in map(str, tip_floor.WINDOWS):
        windows = ", ".join(map(str, tip_floor.WINDOWS))
        raise BadQuery("window", f"one of {windows} (seconds)", text)
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
