"""Secrets that the environment does not name: made once, kept in the run directory."""

import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from config.env import BadEnvironment
from embedded.addresses import Addresses, embedded_addresses
from embedded.passwords import read_or_make


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


def kept_addresses(run_dir: Path, setting: str) -> Addresses:
    """The embedded servers, with the passwords that the run directory keeps; `setting` names
    another server. Raises BadEnvironment likewise.
    """
    with _explained(run_dir, setting):
        return embedded_addresses(run_dir)


def _kept(run_dir: Path, name: str, make: Callable[[], str], setting: str) -> str:
    """The run directory's secret of that name, made at the first call (mode 600)."""
    with _explained(run_dir, setting):
        return read_or_make(run_dir, name, make)


@contextmanager
def _explained(run_dir: Path, setting: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadEnvironment(
            f"cannot use the run directory {run_dir}: {error.strerror} ({error.filename});"
            f" TIDEMARK_RUN_DIR names another, or {setting} makes this file needless"
        ) from None
