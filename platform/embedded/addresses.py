"""Where the embedded servers of a run directory listen, known without starting anything."""

import contextlib
import errno
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from embedded.passwords import server_passwords

# sockaddr_un holds 108 bytes with its closing zero; PostgreSQL appends "/.s.PGSQL.5432".
_SOCKET_PATH_MAX = 107
_POSTGRES_SOCKET = ".s.PGSQL.5432"  # the port is said below: PGPORT may name another
_VALKEY_SOCKET = "valkey.sock"

_EXPECTED = "DATABASE_URL: expected postgresql://user:password@host:port/name"

# Spelled out, not tempfile.gettempdir(): every process must find the same place, whatever its
# TMPDIR says.
SHORT_PLACES = Path("/tmp")


class BadDatabaseUrl(ValueError):
    """DATABASE_URL is not a postgresql:// URL that names a database."""


@dataclass(frozen=True, slots=True, repr=False)
class Addresses:
    """The two servers of one run directory, as their clients write them, with passwords."""

    database_url: str
    redis_url: str


def postgres_folder(run_dir: Path) -> Path:
    """PostgreSQL's data and its socket."""
    return run_dir / "postgres"


def valkey_folder(run_dir: Path) -> Path:
    """Valkey's data and its socket."""
    return run_dir / "valkey"


def short_name(run_dir: Path) -> Path:
    """A path of 30 characters that stands for the run directory; the servers make it a link."""
    digest = hashlib.sha256(os.fsencode(_absolute(run_dir))).hexdigest()[:12]
    return SHORT_PLACES / f"tidemark-{digest}"


def needs_short_name(run_dir: Path) -> bool:
    """Is the run directory too deep for a socket path?"""
    longest = postgres_folder(_absolute(run_dir)) / _POSTGRES_SOCKET
    return len(os.fsencode(longest)) > _SOCKET_PATH_MAX


def embedded_addresses(run_dir: Path) -> Addresses:
    """The servers' addresses with the passwords that the run directory keeps: the same in every
    process of the account; starts nothing. Raises OSError where the folder, or the link that stands
    for it, is another account's, which would be sent the passwords.
    """
    passwords = server_passwords(run_dir)
    if needs_short_name(run_dir):
        _check_owner(short_name(run_dir), run_dir)
    socket = quote(str(valkey_socket(run_dir)), safe="/")
    return Addresses(
        database_url=database_url(run_dir, password=passwords.database),
        redis_url=f"unix://:{passwords.redis}@{socket}?db=0",
    )


def postgres_socket(run_dir: Path) -> Path:
    """Where it listens, by a path that is short enough."""
    return postgres_folder(_seen_as(run_dir)) / _POSTGRES_SOCKET


def valkey_socket(run_dir: Path) -> Path:
    """Likewise."""
    return valkey_folder(_seen_as(run_dir)) / _VALKEY_SOCKET


def database_url(run_dir: Path, *, password: str, role: str = "tidemark") -> str:
    """The address of the database `tidemark` in the run directory's PostgreSQL."""
    folder = quote(str(postgres_folder(_seen_as(run_dir))), safe="/")
    return f"postgresql://{role}:{password}@/tidemark?host={folder}&port=5432"


def is_embedded(url: str, run_dir: Path) -> bool:
    """Does the DATABASE_URL lead to the run directory's own PostgreSQL?"""
    return bool(database_settings(url)["HOST"] == str(postgres_folder(_seen_as(run_dir))))


def database_settings(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for a postgresql:// URL: host and port, or a unix socket's folder as
    `?host=/folder`; other query items (sslmode, …) are libpq options. Raises BadDatabaseUrl.
    """
    # The URL is not repeated in any refusal: a misspelt one shows its password where none is
    # expected.
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadDatabaseUrl(_EXPECTED) from None
    if parts.scheme not in {"postgresql", "postgres"} or not url.startswith(f"{parts.scheme}://"):
        raise BadDatabaseUrl(_EXPECTED)
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise BadDatabaseUrl(f"{_EXPECTED}; it names no database")
    try:
        port = parts.port
    except ValueError:
        raise BadDatabaseUrl(f"{_EXPECTED}; its port is no number of 0 to 65535") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": options.pop("user", "") or unquote(parts.username or ""),
        "PASSWORD": options.pop("password", "") or unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(port or ""),
        "OPTIONS": options,
    }


def _check_owner(link: Path, run_dir: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if link.lstat().st_uid not in (0, os.geteuid(), run_dir.stat().st_uid):
            raise PermissionError(errno.EPERM, "a link of another account", str(link))


def _seen_as(run_dir: Path) -> Path:
    return short_name(run_dir) if needs_short_name(run_dir) else _absolute(run_dir)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would ask the disk)
