"""Data in the run directory that the embedded PostgreSQL cannot use."""

import os
import pwd
import re
import subprocess
from pathlib import Path

from embedded.owner import Owner

_MOVE = "Move it away, or name another run directory by TIDEMARK_RUN_DIR"


def problem_of(folder: Path, owner: Owner | None) -> str:
    """Why the server's folder cannot be used; empty if it can, or is yet to be made. OSError."""
    data = folder / "data"
    if folder.exists() and not folder.is_dir():
        return f"{folder} is not a folder, and PostgreSQL keeps its data there. {_MOVE}"
    if not data.exists():
        return ""
    if not (data / "PG_VERSION").is_file():
        return f"{data} is not a PostgreSQL data folder: it has no PG_VERSION. {_MOVE}"
    account = os.geteuid() if owner is None else owner.uid
    if (found := data.stat().st_uid) != account:
        return (
            f"{data} belongs to the account {_name(found)}, and PostgreSQL runs as"
            f" {_name(account)}. Change its owner (chown -R {_name(account)} {folder}), or name"
            " another run directory by TIDEMARK_RUN_DIR"
        )
    return ""


def other_version(data: Path, postgres: Path) -> str:
    """Why this program cannot read the data; empty if it can. OSError."""
    stored = (data / "PG_VERSION").read_text().strip()
    said = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+", said.stdout)
    if found is None or found[0] == stored:
        return ""
    return (
        f"{data} is of PostgreSQL {stored}, and the embedded one is {found[0]}. Make a backup with"
        " the version of Tidemark that made it, restore it into a new run directory"
        " (TIDEMARK_RUN_DIR), or install that version again"
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
