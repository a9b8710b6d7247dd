"""A copy of everything that outlives a restart, in one folder, and a new installation from it.

In it: the database (pg_dump's directory form, from one moment), the secrets that the run directory
keeps (encrypted, if the backup's key is in no backup), and localnet's chain where that is followed.
Not in it: Redis, which holds limits, caches and the seconds between "accepted" and the database;
and sessions, with which a reader of the backup could sign in.
"""

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from config.backup.seals import BadBackup, check_seal, decrypted, encrypted, is_of, seal
from config.environment.private_files import read_from, write_new
from embedded.tools import run_tool
from staff.formatting import utc

# pg_restore sets it whether the server knows it or not.
_TRANSACTION_TIMEOUT_SINCE = 17
# What pg_dump and pg_restore set in their sessions would be other clients' a moment later.
BY_ITSELF = (
    "DATABASE_URL leads to a pooler, which pg_dump and pg_restore cannot use: name PostgreSQL"
    " itself in DATABASE_URL for this command"
)
_DATABASE = "database"
_LOCALNET = "localnet.sqlite3"
# Secrets that cannot be generated again, by their names in the run directory: the seed of all tip
# addresses, the key that signs sessions, and the demo keys, whose digests alone are stored.
_SECRETS = ("tip_seed", "secret_key", "credentials.json")


def make_backup(
    folder: Path,
    *,
    database_url: str,
    run_dir: Path,
    localnet: Path | None,
    key: bytes,
    jobs: int,
    now: datetime,
) -> dict[str, Any]:
    """Writes the folder, which must not be there yet, whole or not at all: its manifest, which is
    signed with the key. The service may go on meanwhile. Raises BadBackup, ToolFailed and OSError.
    """
    if os.path.lexists(folder):
        raise BadBackup(f"{folder} is there already: name a new folder")
    draft = folder.with_name(f"{folder.name}.unfinished")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(parents=True, mode=0o700)
    options = ["--format=directory", f"--jobs={jobs}", "--no-owner", "--no-privileges"]
    options.append("--exclude-table=rewind_snapshot_*")  # an import's that is under way
    options.append("--exclude-table-data=django_session")
    run_tool(
        "pg_dump", database_url, [*options, "--compress=gzip:1", f"--file={draft / _DATABASE}"]
    )
    names = [name for name in _SECRETS if os.path.lexists(run_dir / name)]
    is_apart = "secret_key" not in names or not is_of(key, _read(run_dir / "secret_key"))
    for name in names:
        content = _read(run_dir / name)
        _write(draft / name, encrypted(content, name, key) if is_apart else content)
    # After the database: its chain must not be older than what was stored of it.
    if localnet is not None and os.path.lexists(localnet):
        write_new(draft / _LOCALNET).close()
        chain = sqlite3.connect(_a_file(localnet))
        with closing(chain), closing(sqlite3.connect(draft / _LOCALNET)) as copy:
            chain.backup(copy)
    about = {"made_at": now.isoformat(), "encrypted": names if is_apart else []}
    manifest = seal(draft, about, key)
    draft.rename(folder)
    return manifest


def check_backup(folder: Path, *, key: bytes | None) -> dict[str, Any]:
    """The manifest, after checking its signature (key None: without this check) and every file.
    Raises BadBackup.
    """
    manifest = check_seal(folder, key)
    try:
        made_at(manifest)
    except (KeyError, TypeError, ValueError):
        raise BadBackup(
            f"{folder} is no backup: its manifest does not say when it was made"
        ) from None
    return manifest


def made_at(manifest: dict[str, Any]) -> str:
    """When it was made, for people: 2026-01-31 14:05:09 UTC."""
    return utc(datetime.fromisoformat(manifest["made_at"]), seconds=True)


def restore_secrets(
    folder: Path, run_dir: Path, *, manifest: dict[str, Any], key: bytes | None
) -> list[str]:
    """Puts the secrets into the run directory: which. One that stands there already, as every
    command makes them, is kept beside as NAME.before. Raises BadBackup.
    """
    hidden = manifest.get("encrypted", [])
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = [name for name in _SECRETS if name in manifest["files"]]
    for name in kept:
        there, draft = run_dir / name, run_dir / f"{name}.{os.getpid()}"
        draft.unlink(missing_ok=True)
        content = _read(folder / name, expected=manifest["files"][name])
        _write(draft, decrypted(content, name, key) if name in hidden else content)
        if os.path.lexists(there) and (
            there.is_symlink() or there.read_bytes() != draft.read_bytes()
        ):
            there.rename(run_dir / f"{name}.before")
        draft.rename(there)
    return kept


def restore_localnet(folder: Path, localnet: Path, *, manifest: dict[str, Any]) -> bool:
    """Puts localnet's chain in its place; False when the backup has none. Raises BadBackup where a
    chain stands there.
    """
    if _LOCALNET not in manifest["files"]:
        return False
    if os.path.lexists(localnet):
        raise BadBackup(f"{localnet} holds a chain: move it away")
    localnet.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _copy(folder / _LOCALNET, localnet, expected=manifest["files"][_LOCALNET])
    return True


def restore_database(folder: Path, *, database_url: str, jobs: int, version: int) -> None:
    """Fills an empty database of that version of PostgreSQL. Raises ToolFailed."""
    options = ["--no-owner", "--no-privileges", f"--jobs={jobs}"]
    harmless = ""
    if version < _TRANSACTION_TIMEOUT_SINCE:
        harmless = 'unrecognized configuration parameter "transaction_timeout"'
    else:
        options.append("--exit-on-error")
    run_tool("pg_restore", database_url, [*options, str(folder / _DATABASE)], harmless=harmless)


def _a_file(path: Path) -> Path:
    if path.is_symlink() or not path.is_file():
        raise BadBackup(f"{path} is a link or no file: it is not followed")
    return path


def _read(path: Path, *, expected: str | None = None) -> bytes:
    """A small file, compared with the digest, since it may have changed after it was checked."""
    with read_from(_a_file(path)) as file:
        content = file.read()
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise BadBackup(f"{path} was changed while it was read")
    return content


def _write(target: Path, content: bytes) -> None:
    """A new file of mode 600, on the disk."""
    with write_new(target) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _copy(source: Path, target: Path, *, expected: str) -> None:
    """A new file of mode 600. The copy is compared with the digest, since the source may have
    changed after it was checked; then nothing is left of it. Raises BadBackup.
    """
    digest = hashlib.sha256()
    with read_from(source) as reading, write_new(target) as writing:
        while piece := reading.read(1 << 20):
            digest.update(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    if digest.hexdigest() != expected:
        target.unlink()
        raise BadBackup(f"{source} was changed while it was read")
