"""Secrets that the environment does not name: made once, kept in the run directory."""

import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from config.env import BadEnvironment


def kept_secret_key(run_dir: Path) -> str:
    """Django's secret key. Raises BadEnvironment when the folder is not this account's to read or
    write.
    """
    return _kept(run_dir, "secret_key", lambda: secrets.token_urlsafe(64), "SECRET_KEY")


def kept_tip_seed(run_dir: Path) -> str:
    """The seed of the tip addresses' keys, in hex. Raises BadEnvironment likewise."""
    return _kept(run_dir, "tip_seed", lambda: secrets.token_hex(32), "TIP_SECRET_SEED")


def metrics_token(secret_key: str) -> str:
    """What /metrics asks for where nothing else is set: it follows from the secret key."""
    return hmac.new(secret_key.encode(), b"metrics", "sha256").hexdigest()[:40]


def _kept(run_dir: Path, name: str, make: Callable[[], str], setting: str) -> str:
    """The run directory's secret of that name, made at the first call (mode 600)."""
    try:
        return _read_or_make(run_dir, name, make)
    except OSError as error:
        raise BadEnvironment(
            f"cannot use the run directory {run_dir}: {error.strerror} ({error.filename});"
            f" TIDEMARK_RUN_DIR names another, or {setting} makes this file needless"
        ) from None


def _read_or_make(run_dir: Path, name: str, make: Callable[[], str]) -> str:
    path = run_dir / name
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    run_dir.mkdir(parents=True, exist_ok=True)
    draft = run_dir / f"{name}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
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
    return path.read_text(encoding="ascii")
