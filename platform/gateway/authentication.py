"""Authorization header or ?api_key= → Caller."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from access.callers import Caller
from access.services import keys, tiers


def caller_of(meta: dict[str, Any], *, now: datetime) -> Caller:
    """Who calls: the key's holder, or the anonymous caller when no key came. Raises KeyRefused
    for a key that is no good, also where none was needed.
    """
    secret = key_of(meta)
    return tiers.anonymous() if secret is None else keys.identify(secret, now=now)


def key_of(meta: dict[str, Any]) -> str | None:
    """The key's text: the header wins over the query; a scheme word `Bearer` is tolerated."""
    header: str = meta.get("HTTP_AUTHORIZATION", "")
    if header:
        text = header.strip()
        if text[:7].lower() == "bearer ":
            return text[7:].strip()
        if text:
            return text
    query: str = meta.get("QUERY_STRING", "")
    if "api_key" not in query:
        return None
    try:
        return parse_qs(query, max_num_fields=100).get("api_key", [None])[-1]
    except ValueError:
        return None


class KeyAuthentication(BaseAuthentication):
    """caller_of for DRF views: the Caller stands as `request.user`."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        return caller_of(request.META, now=datetime.now(UTC)), None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="tidemark"'
