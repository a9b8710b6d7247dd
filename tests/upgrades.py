"""Databases of released versions, kept to be upgraded, with what each was asked and answered."""

import json
from pathlib import Path
from typing import Any

import zstandard

from embedded.tools import run_tool

_FOLDER = Path(__file__).resolve().parent / "kept_databases"
_NOBODYS = ("--no-owner", "--no-privileges")
_TABLES = (
    "--schema-only",
    # A running service makes them.
    "--exclude-table=rewind_changes_*",
    "--exclude-table=rewind_snapshot_*",
)

# Path, method with its params, answer.
Answers = list[list[Any]]


def versions() -> list[str]:
    return sorted(file.stem for file in _FOLDER.glob("*.dump"))


def fill(database_url: str, version: str) -> None:
    """Fills an empty database with that version's, as it was left."""
    _load(database_url, _FOLDER / f"{version}.dump")


def answers(version: str) -> Answers:
    """What the service was asked, and answered."""
    packed = (_FOLDER / f"{version}.json.zst").read_bytes()
    found: Answers = json.loads(zstandard.ZstdDecompressor().decompress(packed))
    return found


def keep(database_url: str, version: str, answered: Answers) -> None:
    """Keeps this database as that version's."""
    file = _FOLDER / f"{version}.dump"
    _dump(database_url, file, "--format=custom", "--compress=gzip:9")
    packed = zstandard.ZstdCompressor(19).compress(json.dumps(answered).encode())
    file.with_suffix(".json.zst").write_bytes(packed)


def tables(database_url: str, file: Path) -> str:
    """The schema as SQL, without what a running service adds; the file is written on the way."""
    _dump(database_url, file, *_TABLES, "--restrict-key=none")
    return file.read_text(encoding="utf-8")


def copy_tables(database_url: str, copy_url: str, file: Path) -> None:
    """Makes the same tables in an empty database: PostgreSQL writes some conditions in another way
    once they were restored.
    """
    _dump(database_url, file, *_TABLES, "--format=custom")
    _load(copy_url, file)


def _dump(database_url: str, file: Path, *options: str) -> None:
    run_tool("pg_dump", database_url, [*_NOBODYS, *options, f"--file={file}"])


def _load(database_url: str, file: Path) -> None:
    options = [*_NOBODYS, str(file)]
    run_tool("pg_restore", database_url, options, harmless='parameter "transaction_timeout"')
