"""What a check finds, and texts without secrets."""

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings

# Shorter values are words, such as a user's name, that any text may hold.
_SHORTEST_SECRET = 6
_HIDDEN = "[hidden]"
# The advice on a full disk, in each area.
FREE_SPACE = "Free some space. Everything then continues automatically."


class Level(enum.StrEnum):
    """`error`: something does not work, or data may be lost. `warning`: it will come to that, or is
    unsafe. `note`: worth knowing.
    """

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence on one thing, and what to do about it: empty where there is nothing to do."""

    level: Level
    text: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(text: str) -> Finding:
    return Finding(Level.OK, text)


def note(text: str, advice: str = "") -> Finding:
    return Finding(Level.NOTE, text, advice)


def warning(text: str, advice: str) -> Finding:
    return Finding(Level.WARNING, text, advice)


def error(text: str, advice: str) -> Finding:
    return Finding(Level.ERROR, text, advice)


def without_secrets(text: str) -> str:
    """The text, in which no value of a secret setting stands: errors of drivers may repeat one."""
    for secret in sorted(_secrets(), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _HIDDEN)
    return text


def _secrets() -> set[str]:
    seed: bytes = settings.TIP_SECRET_SEED
    found = {settings.SECRET_KEY, settings.METRICS_TOKEN, settings.EMAIL_HOST_PASSWORD, seed.hex()}
    found.add(settings.OIDC_CLIENT_SECRET)
    found.update(settings.UPSTREAM_GEYSER_TOKEN.split(","))
    found.update(str(value) for value in dict(settings.ARCHIVE_STORE_OPTIONS or {}).values())
    for url in _urls():
        found.update(_secrets_of(url))
    return {each for each in found if each}


def _urls() -> Iterator[str]:
    yield settings.DATABASE_URL
    yield settings.REDIS_URL
    yield settings.UPSTREAM_RPC_URL
    yield from settings.UPSTREAM_GEYSER_URL.split(",")
    yield from settings.FILL_RPC_URLS
    yield settings.OLD_FAITHFUL_URL


def _secrets_of(url: str) -> Iterator[str]:
    """The password, and of an address of http what may be a key: its path and its query."""
    parts = urlsplit(url)
    if parts.password:
        yield parts.password
        yield unquote(parts.password)
    if parts.scheme in ("http", "https"):
        yield from (value for _, value in parse_qsl(parts.query))
        yield from (part for part in parts.path.split("/") if len(part) >= 16)
