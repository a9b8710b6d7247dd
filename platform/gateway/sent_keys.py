"""The text of the key that came with a request."""

import hmac
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

CHALLENGE = 'Bearer realm="tidemark"'
# The paths that clients of a block engine call.
_BLOCK_ENGINE = ("/bundle/", "/api/v1/")


def key_of(meta: dict[str, Any]) -> str | None:
    """The key's text: the header wins over the query; the scheme `Bearer` is optional.

    Clients of a block engine call it `uuid`, on its paths, or send it in a header of their own.
    An unusable key is the text "", never None: servers pass a header that is not ASCII as an empty
    one, and its sender must not count as a caller without a key.
    """
    header: str | None = meta.get("HTTP_AUTHORIZATION")
    if header is not None:
        text = header.strip()
        return text[7:].strip() if text[:7].lower() == "bearer " else text
    query: str = meta.get("QUERY_STRING", "")
    name = "api_key"
    if meta["PATH_INFO"].startswith(_BLOCK_ENGINE):
        engines_own: str | None = meta.get("HTTP_X_JITO_AUTH")
        if engines_own is not None:
            return engines_own.strip()
        if name not in query:
            name = "uuid"
    # A name may be percent-encoded; most calls have no query at all, and reading one costs.
    if name not in query and "%" not in query:
        return None
    found: dict[str, list[str]] = parse_qs(query, keep_blank_values=True)
    texts = found.get("api_key") or found.get(name)
    return None if texts is None else texts[-1]


def has_metrics_token(meta: dict[str, Any]) -> bool:
    """Whether the header is `Authorization: Bearer …` with METRICS_TOKEN."""
    header: str = meta.get("HTTP_AUTHORIZATION", "")
    scheme, _, token = header.partition(" ")
    known: str = settings.METRICS_TOKEN
    is_token = hmac.compare_digest(token.strip().encode(), known.encode())
    return scheme.lower() == "bearer" and is_token
