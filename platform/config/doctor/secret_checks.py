"""Secrets of the run directory and keypair files: there, readable, and for this account alone."""

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from solders.keypair import Keypair

from config.doctor.findings import Finding, error, note, ok, warning

# Of the run directory: what each is, and what its loss costs.
_KEPT = {
    "secret_key": "signs sessions and decrypts webhooks' secrets",
    "tip_seed": "all keys of tip addresses come from it",
    "credentials.json": "has the first login and demo keys",
}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SHORTEST_KEY = 32


def of_secrets() -> Iterator[Finding]:
    run_dir = Path(settings.RUN_DIR).absolute()
    if not run_dir.is_dir():
        yield note(f"The run directory {run_dir} does not exist yet.", "")
        return
    found = run_dir.stat()
    if found.st_uid != os.geteuid():
        yield warning(
            f"The run directory {run_dir} belongs to {_account(found.st_uid)}, and doctor runs as"
            f" {_account(os.geteuid())}.",
            "Run doctor as the account of the service. Its findings on files apply to the account"
            " that runs it.",
        )
    if found.st_mode & _OTHERS:
        yield error(
            f"The run directory {run_dir} is open to other accounts (mode"
            f" {stat.S_IMODE(found.st_mode):03o}), but contains the service's secrets.",
            f"chmod 700 {run_dir}",
        )
    for name, meaning in _KEPT.items():
        yield from _open_to_others(run_dir / name, f"It {meaning}.")
    if len(settings.SECRET_KEY) < _SHORTEST_KEY:
        yield error(
            f"SECRET_KEY has {len(settings.SECRET_KEY)} characters: sessions can be forged.",
            f"Set one of {_SHORTEST_KEY} random characters or more. This ends all sessions.",
        )
    if len(set(settings.TIP_SECRET_SEED)) == 1:
        yield error(
            "The seed of tip addresses is one byte repeated: anyone can derive their keys.",
            "Set TIP_SECRET_SEED to 32 random bytes, and sweep the old addresses.",
        )
    yield from _named("TIP_SECRET_SEED_FILE", os.environ.get("TIP_SECRET_SEED_FILE", "").strip())
    yield from _backup_key(settings.BACKUP_KEY_FILE)


def of_keypairs() -> Iterator[Finding]:
    for setting in ("TPU_IDENTITY_FILE", "BLOCK_ENGINE_KEYPAIR_FILE"):
        file = getattr(settings, setting)
        if not file:
            continue
        if problem := _unreadable(Path(file)):
            yield error(f"{setting}={file}: {problem}.", "Landers do not start without it.")
            continue
        yield from _open_to_others(Path(file), f"It is the keypair of {setting}.")
        try:
            pubkey = Keypair.from_json(Path(file).read_text()).pubkey()
        except ValueError:  # not its text: that may be the key
            yield error(
                f"{setting}={file} is not a keypair.",
                "Expected a JSON array of 64 numbers, as solana-keygen writes it.",
            )
            continue
        yield ok(f"{setting} is the keypair of {pubkey}.")


def _backup_key(file: str) -> Iterator[Finding]:
    if not file:
        return
    yield from _named("BACKUP_KEY_FILE", file)
    try:
        is_short = len(Path(file).read_text("utf-8").strip()) < 16
    except (OSError, UnicodeDecodeError):
        return
    if is_short:
        yield error(f"BACKUP_KEY_FILE={file} has fewer than 16 characters.", "Backups fail.")


def _named(setting: str, file: str) -> Iterator[Finding]:
    if not file:
        return
    if problem := _unreadable(Path(file)):
        yield error(f"{setting}={file}: {problem}.", "Correct the path, or its permissions.")
        return
    yield from _open_to_others(Path(file), f"{setting} names it.")


def _unreadable(path: Path) -> str:
    """Why the file cannot be read; empty where it can."""
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as failure:
        return failure.strerror or "it cannot be read"
    return ""


def _open_to_others(path: Path, meaning: str) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & _OTHERS:
        yield error(
            f"{path} can be read or written by other accounts (mode {mode:03o}). {meaning}",
            f"chmod 600 {path}; if others had access, replace the secret.",
        )
    else:
        yield ok(f"{path} is closed to other accounts.")


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account {uid}"
