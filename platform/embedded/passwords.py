"""Passwords of the embedded servers, from one secret of the run directory."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_NAME = "servers_secret"
# More would slow each connection by milliseconds; 256 random bits cannot be guessed.
_ITERATIONS = 16


@dataclass(frozen=True, slots=True, repr=False)
class Passwords:
    """One for each role. Hexadecimal, so that they need no quoting anywhere."""

    superuser: str
    database: str
    redis: str


def server_passwords(run_dir: Path) -> Passwords:
    """The passwords of the run directory's servers, whose secret is made at the first call (mode
    600). Raises OSError where the folder is not this account's.
    """
    secret = read_or_make(run_dir, _NAME, lambda: secrets.token_hex(32)).encode()

    def of(name: bytes) -> str:
        return hmac.digest(secret, name, "sha256").hex()

    return Passwords(of(b"postgres"), of(b"tidemark"), of(b"valkey"))


def scram_verifier(password: str) -> str:
    """PostgreSQL's verifier of a password (RFC 5802), the same at each call. It does not reveal the
    password, also not in a log.
    """
    salt = hashlib.sha256(b"salt of " + password.encode()).digest()[:16]
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    texts = [base64.b64encode(each).decode() for each in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{texts[0]}${texts[1]}:{texts[2]}"


def _sync(folder: Path) -> None:
    """Its names are on the disk: without the tip seed, what lies on tip addresses is lost."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_or_make(run_dir: Path, name: str, make: Callable[[], str]) -> str:
    """The text of a secret file (mode 600), made at the first call. Raises OSError."""
    path = run_dir / name
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = run_dir / f"{name}.{os.getpid()}"
    draft.unlink(missing_ok=True)  # of a process that was killed
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(make())
        file.flush()
        os.fsync(file.fileno())
    try:
        # Processes that start together must agree: link() refuses a name that is taken.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    _sync(run_dir)
    return path.read_text(encoding="ascii")
