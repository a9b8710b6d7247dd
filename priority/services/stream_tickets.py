"""Tickets to the stream of fates: clients drop the Authorization header where a redirect leads to
another port, so that the way there carries a stand-in for the key, good for a minute.
"""

from typing import Any
from urllib.parse import urlencode

from django.core import signing

from access.key_text import digest_of
from gateway.authentication import key_of

_SALT = "priority.stream_tickets"
_SECONDS = 60
PARAMETER = "ticket"


def with_ticket(meta: dict[str, Any]) -> str:
    """The request's query, with a ticket where its key came in a header."""
    query: str = meta.get("QUERY_STRING", "")
    secret = key_of(meta)
    if secret is None or "HTTP_AUTHORIZATION" not in meta:
        return query
    ticket = signing.dumps(digest_of(secret).hex(), salt=_SALT)
    return "&".join(filter(None, (query, urlencode({PARAMETER: ticket}))))


def digest_in(ticket: str) -> bytes | None:
    """The digest of the key that the ticket stands for; None where it is none, or too old."""
    try:
        return bytes.fromhex(signing.loads(ticket, salt=_SALT, max_age=_SECONDS))
    except (signing.BadSignature, ValueError, TypeError):
        return None
