"""The run directory, closed to every other account."""

import contextlib
import os
import stat
from pathlib import Path

from embedded.addresses import postgres_folder

# What a run makes in its directory. Nothing else is touched: someone may keep files of their own
# there, or name a folder that they use for other things too.
_OURS = (
    "secret_key*",
    "tip_seed*",
    "credentials.json*",
    "servers_secret*",
    "lock",
    "beat-schedule*",
    "postgres",
    "valkey",
    "localnet",
    "mail",
    "programs-*",
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SharedFolder(Exception):
    """The run directory is a folder that other accounts use."""


def close_run_dir(run_dir: Path) -> None:
    """Makes the run directory this account's alone (mode 700), and closes what was left open
    in it by earlier versions. Raises SharedFolder and OSError.
    """
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = run_dir.stat()
    if found.st_mode & stat.S_ISVTX or found.st_uid != os.geteuid() != 0:
        raise SharedFolder(
            f"{run_dir} is not this account's alone, and a run directory is closed to others:"
            " name a new folder by TIDEMARK_RUN_DIR"
        )
    run_dir.chmod(0o700)
    # PostgreSQL refuses a data folder that is open, and makes its files closed.
    data = postgres_folder(run_dir) / "data"
    for pattern in _OURS:
        for path in run_dir.glob(pattern):
            _close(path, but=data)


def _close(path: Path, *, but: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return  # a file of a moment
    if stat.S_ISLNK(status.st_mode):
        return  # chmod would follow it
    if status.st_mode & _OTHERS:
        with contextlib.suppress(PermissionError, FileNotFoundError):  # another account's
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
    if stat.S_ISDIR(status.st_mode) and path != but:
        with contextlib.suppress(PermissionError, FileNotFoundError):
            for each in list(path.iterdir()):
                _close(each, but=but)
