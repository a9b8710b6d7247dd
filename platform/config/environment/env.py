"""Readers of the environment that fail loudly: a value that makes no sense stops the start."""

import os
import re
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from solders.hash import Hash, ParseHashError
from solders.pubkey import Pubkey

_HOST_NAME = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)


class BadEnvironment(Exception):
    """An environment variable whose value cannot be used; the text names it, and what it takes."""


def text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def integer(
    name: str, default: int, *, minimum: int = 0, maximum: int = 2**31 - 1, multiple_of: int = 1
) -> int:
    raw = os.environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise BadEnvironment(f"{name}={raw!r}: expected a whole number") from None
    if not minimum <= value <= maximum:
        raise BadEnvironment(f"{name}={value}: expected {minimum} to {maximum}")
    if value % multiple_of:
        raise BadEnvironment(f"{name}={value}: expected a multiple of {multiple_of}")
    return value


def boolean(name: str, default: bool) -> bool:
    raw = os.environ.get(name, "").strip().lower()
    if not raw:
        return default
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise BadEnvironment(f"{name}={raw!r}: expected true or false")


def choice(name: str, default: str, choices: Sequence[str]) -> str:
    """One of the choices, whatever its case."""
    raw = text(name, default)
    found = next((each for each in choices if each.lower() == raw.lower()), None)
    if found is None:
        *most, last = choices
        raise BadEnvironment(f"{name}={raw!r}: expected {', '.join(most) or 'nothing'} or {last}")
    return found


def names(name: str, default: list[str]) -> list[str]:
    """A comma-separated list; empty items are dropped, but one must be left."""
    raw = os.environ.get(name, "").strip()
    if not raw:
        return default
    items = [item.strip() for item in raw.split(",") if item.strip()]
    if not items:
        raise BadEnvironment(f"{name}={raw!r}: expected a comma-separated list")
    return items


def host_name(name: str, default: str) -> str:
    """A host name without a port, in lower case."""
    value = text(name, default).lower()
    if not _HOST_NAME.fullmatch(value):
        raise BadEnvironment(f"{name}={value!r}: expected a host name such as example.com")
    return value


def hosts(name: str, default: list[str]) -> list[str]:
    """Django's patterns: a host name, an address, `.name` for all below, or `*`."""
    found = names(name, default)
    for item in found:
        if item != "*" and not _is_host(item.lower().removeprefix(".")):
            raise BadEnvironment(
                f"{name}={item!r}: expected host names without scheme or port, such as"
                " example.com, .example.com or [::1]"
            )
    return found


def origins(name: str) -> list[str]:
    """`https://name` each, with a port where it is not the scheme's own."""
    found = names(name, [])
    for item in found:
        parts = _split(item)
        if (
            parts is None
            or parts.scheme not in {"http", "https"}
            or not _is_host(parts.netloc.removesuffix(f":{parts.port}").lower().removeprefix("*."))
            or item != f"{parts.scheme}://{parts.netloc}"
        ):
            raise BadEnvironment(f"{name}={item!r}: expected https://admin.example, without a path")
    return found


def networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and CIDR blocks."""
    try:
        return tuple(ip_network(item, strict=False) for item in names(name, []))
    except ValueError as error:
        raise BadEnvironment(f"{name}: {error}; expected 10.0.0.0/8,192.168.1.2") from None


def http_url(name: str, default: str) -> str:
    """An http or https address, without a trailing slash; its text is not repeated, for it may
    hold a token. The default may be empty: no such machine.
    """
    url = text(name, default).rstrip("/")
    parts = _split(url)
    if url and (parts is None or parts.scheme not in {"http", "https"} or not parts.hostname):
        raise BadEnvironment(f"{name}: expected http://host:port or https://host/path")
    return url


def http_urls(name: str, default: list[str]) -> list[str]:
    """Comma-separated http or https addresses."""
    found = [item.rstrip("/") for item in names(name, default)]
    for item in found:
        parts = _split(item)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadEnvironment(f"{name}: expected http://host:port, or several with commas")
    return found


def store_url(name: str) -> str:
    """The address of a folder of files: http, https, s3, gs, az, or file; without a trailing slash,
    and empty for none. Its text is not repeated, for it may hold a token.
    """
    url = text(name, "").rstrip("/")
    parts = _split(url)
    good = not url
    if parts is not None and parts.scheme == "file":
        good = bool(parts.path) and not parts.netloc
    elif parts is not None and parts.scheme in {"http", "https", "s3", "gs", "az"}:
        good = bool(parts.hostname)
    if not good:
        raise BadEnvironment(
            f"{name}: expected https://host/path, s3://bucket/path, gs://…, az://… or file:///path"
        )
    return url


def number_ranges(name: str, *, most: int) -> tuple[int, ...]:
    """Numbers and ranges of them, such as 0-2,7; the numbers, highest first, each once."""
    found: set[int] = set()
    for item in names(name, []):
        low, between, high = item.partition("-")
        if not low.isdecimal() or not (high if between else low).isdecimal():
            raise BadEnvironment(f"{name}={item!r}: expected numbers and ranges such as 0-2,7")
        numbers = range(int(low), int(high or low) + 1)
        if len(numbers) > most or len(found) > most:
            raise BadEnvironment(f"{name}: expected at most {most} numbers")
        found.update(numbers)
    if len(found) > most:
        raise BadEnvironment(f"{name}: expected at most {most} numbers")
    return tuple(sorted(found, reverse=True))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (read to be checked)
    except ValueError:
        return None
    return parts


def _is_host(item: str) -> bool:
    if item.startswith("[") and item.endswith("]"):
        try:
            return ip_address(item[1:-1]).version == 6
        except ValueError:
            return False
    return _HOST_NAME.fullmatch(item) is not None


def pubkey(name: str, default: Pubkey) -> Pubkey:
    return pubkeys(name, [default])[0]


def pubkeys(name: str, default: list[Pubkey]) -> list[Pubkey]:
    """A comma-separated list of base58 addresses."""
    try:
        return [Pubkey.from_string(item) for item in names(name, [])] or default
    except ValueError:
        raise BadEnvironment(f"{name}={os.environ[name]!r}: expected addresses in base58") from None


def bank_hashes(name: str) -> dict[int, bytes]:
    """A comma-separated list of SLOT:HASH, by slot."""
    found: dict[int, bytes] = {}
    for item in names(name, []):
        slot, _, text = item.partition(":")
        try:
            own = Hash.from_string(text)
        except ParseHashError:
            own = None
        if own is None or not slot.isdecimal():
            raise BadEnvironment(
                f"{name}={item!r}: expected SLOT:HASH, a number and a bank's hash in base58"
            )
        if int(slot) in found:
            raise BadEnvironment(f"{name}: expected the slot {slot} once")
        found[int(slot)] = bytes(own)
    return found


def hex_bytes(name: str, file_name: str, default: Callable[[], str], *, count: int) -> bytes:
    """Bytes from the first of: the variable in hex, the file that the other variable names, the
    default in hex. A value is a secret: no error shows it.
    """
    raw, path = os.environ.get(name, "").strip(), os.environ.get(file_name, "").strip()
    source = name if raw or not path else f"{file_name}={path}"
    try:
        found = bytes.fromhex(raw or (Path(path).read_text("ascii") if path else default()).strip())
    except OSError as error:
        raise BadEnvironment(f"{source}: {error.strerror}") from None
    except ValueError:
        found = b""
    if len(found) != count:
        raise BadEnvironment(f"{source}: expected {count} bytes as {2 * count} hex digits")
    return found
