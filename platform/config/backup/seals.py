"""The signature of a backup: who may have made it, and that nothing was changed since; and the
encryption of what it holds of the run directory.
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from config.environment.private_files import read_from, write_new

MANIFEST = "manifest.json"
SIGNATURE = "signature"
_MANIFEST_BYTES = 64_000_000  # a name and a digest for each of a few hundred thousand files
_FORM = "hmac-sha256"
_DEEPEST = 8
_NONCE = 12


class BadBackup(Exception):
    """A folder that is no backup, or not as it was written; the text says what is wrong."""


def signing_key(secret: str) -> bytes:
    """The key that signs backups, from an installation's secret."""
    return hmac.digest(secret.strip().encode(), b"tidemark backup 1", "sha256")


def is_of(key: bytes, secret: bytes) -> bool:
    """Whether the key comes from the secret of a file."""
    return hmac.compare_digest(key, signing_key(secret.decode("utf-8", "replace")))


def encrypted(content: bytes, name: str, key: bytes) -> bytes:
    """A file's content, which only the backup's key reads."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + _cipher(key).encrypt(nonce, content, name.encode())


def decrypted(content: bytes, name: str, key: bytes | None) -> bytes:
    """Raises BadBackup, also without a key."""
    if key is None:
        raise BadBackup(f"{name} is encrypted: it needs the backup's key, by --key-file")
    try:
        return _cipher(key).decrypt(content[:_NONCE], content[_NONCE:], name.encode())
    except (InvalidTag, ValueError):
        raise BadBackup(f"{name} is encrypted, and not with this key") from None


def _cipher(key: bytes) -> AESGCM:
    return AESGCM(hmac.digest(key, b"secrets of the run directory", "sha256"))


def seal(folder: Path, about: dict[str, Any], key: bytes) -> dict[str, Any]:
    """Writes the manifest, with `about` and the digest of every file, and its signature. Returns
    the manifest.
    """
    files = list(files_below(folder))
    manifest = {
        **about,
        "bytes": sum((folder / name).lstat().st_size for name in files),
        "files": {name: digest_of(folder / name) for name in files},
    }
    text = (json.dumps(manifest, indent=2) + "\n").encode()
    with write_new(folder / MANIFEST) as file:
        file.write(text)
    digest = hmac.digest(key, text, "sha256").hex()
    with write_new(folder / SIGNATURE) as file:
        file.write(f"{_FORM} {_name_of(key)} {digest}\n".encode())
    return manifest


def check_seal(folder: Path, key: bytes | None) -> dict[str, Any]:
    """The manifest, after checking its signature (key None: without this check) and every file
    against it. Raises BadBackup.
    """
    try:
        there = set(files_below(folder)) - {SIGNATURE, MANIFEST}
        text = _read_small(folder / MANIFEST, _MANIFEST_BYTES)
    except OSError:
        raise BadBackup(f"{folder} is no backup: it has no {MANIFEST} that can be read") from None
    if key is not None:
        _check_signature(folder, text, key)
    try:
        manifest: dict[str, Any] = json.loads(text)
        expected = dict(manifest["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadBackup(f"{folder} is no backup: it has no {MANIFEST} that can be read") from None
    for name in sorted(expected.keys() | there):
        # A name of the manifest that leads elsewhere is none that was found in the folder.
        if name not in there:
            raise BadBackup(f"{folder}: {name} is missing")
        if name not in expected or digest_of(folder / name) != expected[name]:
            raise BadBackup(f"{folder}: {name} is not as it was written")
    return manifest


def files_below(folder: Path, *, within: str = "", depth: int = 0) -> Iterator[str]:
    """The regular files, by their path from the folder. Raises BadBackup for anything else: no link
    leads out of a backup, and none of its files has another name by which it could be changed.
    """
    if depth > _DEEPEST:
        raise BadBackup(f"{folder}: {within!r} lies deeper than any file of a backup")
    with os.scandir(folder / within) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = f"{within}{entry.name}"
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield from files_below(folder, within=f"{name}/", depth=depth + 1)
        elif not stat.S_ISREG(status.st_mode):
            raise BadBackup(f"{folder}: {name!r} is neither a file nor a folder")
        elif status.st_nlink != 1:
            raise BadBackup(f"{folder}: {name!r} is a hard link: copy the backup, and try the copy")
        else:
            yield name


def digest_of(path: Path) -> str:
    """SHA-256 of the file, read piece by piece. Raises OSError, also for a link."""
    with read_from(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_signature(folder: Path, manifest: bytes, key: bytes) -> None:
    try:
        words = _read_small(folder / SIGNATURE, 1_000).decode("ascii").split()
    except FileNotFoundError:
        raise BadBackup(
            f"{folder} is not signed: anyone may have written it. --unsigned restores it all the"
            " same, with the accounts, API keys and SQL that are in it"
        ) from None
    except (OSError, UnicodeDecodeError):
        words = []
    if len(words) != 3 or words[0] != _FORM:
        raise BadBackup(f"{folder}: its signature cannot be read")
    if words[1] != _name_of(key):
        raise BadBackup(
            f"{folder} is signed with another key than this installation's: name, by --key-file,"
            " the file with the secret that it was made with (what BACKUP_KEY_FILE names there, or"
            " SECRET_KEY, which is secret_key in its run directory)"
        )
    if not hmac.compare_digest(words[2], hmac.digest(key, manifest, "sha256").hex()):
        raise BadBackup(f"{folder}: {MANIFEST} is not as it was signed")


def _name_of(key: bytes) -> str:
    """A name that identifies the key and reveals nothing about it."""
    return hmac.digest(key, b"name", "sha256").hex()[:16]


def _read_small(path: Path, most: int) -> bytes:
    with read_from(path) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(f"{path} is longer than {most} bytes")
    return found
