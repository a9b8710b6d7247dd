"""Django's secret key when the environment names none: made once, kept in the run directory."""

import os
import secrets
from pathlib import Path

from config.env import BadEnvironment


def kept_secret_key(run_dir: Path) -> str:
    """The run directory's key, made at the first call (mode 600). Raises BadEnvironment when the
    folder is not this account's to read or write.
    """
    try:
        return _read_or_make(run_dir, run_dir / "secret_key")
    except OSError as error:
        raise BadEnvironment(
            f"cannot use the run directory {run_dir}: {error.strerror} ({error.filename});"
            " TIDEMARK_RUN_DIR names another, or SECRET_KEY makes this file needless"
        ) from None


def _read_or_make(run_dir: Path, path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    run_dir.mkdir(parents=True, exist_ok=True)
    draft = run_dir / f"secret_key.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(64))
    try:
        # Processes that start together must agree: link() refuses a name that is taken.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii")
