"""A copy of everything that outlives a restart, in one folder, and a new installation from it.

In it: the database (pg_dump's directory form, from one moment), the secrets that the run directory
keeps, and localnet's chain where that is followed. Not in it: Redis, which holds limits, caches and
the seconds between "accepted" and the database.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from embedded.tools import run_tool

_MANIFEST = "manifest.json"
_DATABASE = "database"
_LOCALNET = "localnet.sqlite3"
# What cannot be had anew, by the name in the run directory: the keys of all tip addresses, what
# signs sessions, and the secrets of the demo keys, of which the database has digests alone.
_SECRETS = ("tip_seed", "secret_key", "credentials.json")


class BadBackup(Exception):
    """A folder that is no backup, or not as it was written; the text says what is wrong."""


def make_backup(
    folder: Path,
    *,
    database_url: str,
    run_dir: Path,
    localnet: Path | None,
    jobs: int,
    now: datetime,
) -> dict[str, Any]:
    """Writes the folder, which must not be there yet, whole or not at all: its manifest. The
    service may go on meanwhile. Raises BadBackup, ToolFailed and OSError.
    """
    if folder.exists():
        raise BadBackup(f"{folder} is there already: name a new folder")
    draft = folder.with_name(f"{folder.name}.unfinished")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(parents=True, mode=0o700)
    options = ["--format=directory", f"--jobs={jobs}", "--no-owner", "--no-privileges"]
    run_tool(
        "pg_dump", database_url, [*options, "--compress=gzip:1", f"--file={draft / _DATABASE}"]
    )
    for name in _SECRETS:
        if (run_dir / name).exists():
            _copy_private(run_dir / name, draft / name)
    # After the database: its chain must not be older than what was stored of it.
    if localnet is not None and localnet.exists():
        copied = sqlite3.connect(draft / _LOCALNET)
        with closing(sqlite3.connect(localnet)) as chain, closing(copied) as copy:
            chain.backup(copy)
    files = [path for path in sorted(draft.rglob("*")) if path.is_file()]
    manifest = {
        "made_at": now.isoformat(),
        "bytes": sum(path.stat().st_size for path in files),
        "files": {str(path.relative_to(draft)): _digest(path) for path in files},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (draft / _MANIFEST).write_text(text, encoding="utf-8")
    draft.rename(folder)
    return manifest


def check_backup(folder: Path) -> dict[str, Any]:
    """The manifest, once every file is as it was written. Raises BadBackup."""
    try:
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        expected = dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BadBackup(f"{folder} is no backup: it has no {_MANIFEST} that can be read") from None
    there = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.name != _MANIFEST
    }
    for name in sorted(expected.keys() | there):
        if name not in there:
            raise BadBackup(f"{folder}: {name} is missing")
        if name not in expected or _digest(folder / name) != expected[name]:
            raise BadBackup(f"{folder}: {name} is not as it was written")
    return manifest


def restore_secrets(folder: Path, run_dir: Path) -> list[str]:
    """Puts the secrets into the run directory: which. One that stands there already, as every
    command makes them, is kept beside as NAME.before.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    kept = [name for name in _SECRETS if (folder / name).exists()]
    for name in kept:
        there = run_dir / name
        if there.exists() and there.read_bytes() != (folder / name).read_bytes():
            there.rename(run_dir / f"{name}.before")
        _copy_private(folder / name, there)
    return kept


def restore_localnet(folder: Path, localnet: Path) -> bool:
    """Puts localnet's chain in its place; False when the backup has none. Raises BadBackup where a
    chain stands there.
    """
    if not (folder / _LOCALNET).exists():
        return False
    if localnet.exists():
        raise BadBackup(f"{localnet} holds a chain: move it away")
    localnet.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / _LOCALNET, localnet)
    return True


def restore_database(folder: Path, *, database_url: str, jobs: int) -> None:
    """Fills an empty database. Raises ToolFailed."""
    options = ["--no-owner", "--no-privileges", "--exit-on-error", f"--jobs={jobs}"]
    run_tool("pg_restore", database_url, [*options, str(folder / _DATABASE)])


def _copy_private(source: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.read_bytes())
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
