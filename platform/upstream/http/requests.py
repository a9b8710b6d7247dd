"""POST requests to one URL, as bytes."""

import ssl
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from upstream.http.errors import BadAddress

CONNECT_SECONDS = 5.0
# The system's certificate authorities.
shared_tls_context = cache(ssl.create_default_context)


class Address(NamedTuple):
    """Where requests to a URL go: `authority` is for the header Host, `query` begins with a `?`."""

    tls: bool
    host: str
    port: int
    authority: str
    path: str
    query: str


class Requests:
    """The requests to a URL. The URL is read when it is needed: BadAddress."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        # The host, for people: an address may hold a key in its path or query.
        self.name = urlsplit(url).netloc.rpartition("@")[2] or url
        self._url = url
        self._headers = headers
        self._heads: dict[str, bytes] = {}

    @property
    def address(self) -> Address:
        return read_url(self._url)

    def with_body(self, body: bytes, path: str = "") -> bytes:
        """A request; `path` is put behind that of the URL."""
        head = self._heads.get(path)
        if head is None:
            address = self.address
            target = f"{address.path.rstrip('/')}{path}" if path else address.path
            headers = {"Host": address.authority, **self._headers}
            head = self._heads[path] = _head(f"{target or '/'}{address.query}", headers)
        return head + b"%d\r\n\r\n" % len(body) + body


def request_bytes(target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A request; names and values of headers are written as they are."""
    return _head(target, headers) + b"%d\r\n\r\n" % len(body) + body


@lru_cache(maxsize=256)
def read_url(url: str) -> Address:
    """Raises BadAddress where the URL is none of HTTP."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if ":" in host else host.encode("idna").decode("ascii")
    except ValueError:
        raise BadAddress("the address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadAddress("the address is not one of http:// or https://")
    tls = parts.scheme == "https"
    authority = f"[{host}]" if ":" in host else host
    return Address(
        tls,
        host,
        port or (443 if tls else 80),
        authority if port is None else f"{authority}:{port}",
        _quoted(parts.path),
        _quoted(f"?{parts.query}") if parts.query else "",
    )


def _quoted(text: str) -> str:
    return quote(text, safe="/%:@!$&'()*+,;=~-._?[]")


def _head(target: str, headers: Mapping[str, str]) -> bytes:
    """Up to the value of Content-Length."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {target} HTTP/1.1\r\n{lines}Content-Length: ".encode("latin-1")
