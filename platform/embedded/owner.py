"""Which account the embedded servers run under."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# PostgreSQL refuses root. We create no accounts: the first of these that exists.
_UNPRIVILEGED = ("postgres", "nobody")


class NoOwner(Exception):
    """We are root and the machine has no account that a server may run under."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An account to step down to."""

    uid: int
    gid: int


def server_owner(data: Path) -> Owner | None:
    """The account for the servers; None for our own. As root: the owner of `data`, else `postgres`,
    else `nobody`. Raises NoOwner.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (found := data.stat()).st_uid != 0:
        return Owner(found.st_uid, found.st_gid)
    for name in _UNPRIVILEGED:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return Owner(account.pw_uid, account.pw_gid)
    raise NoOwner("running as root, and neither `postgres` nor `nobody` exists on this machine")


def stepping_down(owner: Owner | None) -> dict[str, Any]:
    """The arguments of subprocess that start a program under the account."""
    if owner is None:
        return {}
    return {"user": owner.uid, "group": owner.gid, "extra_groups": []}


def private_folder(path: Path, owner: Owner | None) -> None:
    """Makes the folder, for the account alone (mode 700)."""
    path.mkdir(parents=True, exist_ok=True)
    if owner is not None:
        os.chown(path, owner.uid, owner.gid)
    path.chmod(0o700)


def can_run(program: Path, owner: Owner | None) -> bool:
    """Does the program start under the account? (It may lie below a folder that is shut to it.)"""
    try:
        answer = subprocess.run(
            [program, "--version"],
            capture_output=True,
            cwd="/",
            check=False,
            **stepping_down(owner),
        )
    except OSError:
        return False
    return answer.returncode == 0


def can_enter(folder: Path, owner: Owner) -> bool:
    """Can the account go there? Asked of the kernel: modes are not all that decides."""
    answer = subprocess.run(
        ["/bin/sh", "-c", 'test -x "$1"', "sh", folder],
        cwd="/",
        check=False,
        **stepping_down(owner),
    )
    return answer.returncode == 0
