"""Programs as they were before today's builds: older wheels of solders carry them."""

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

from solders.account import Account
from solders.pubkey import Pubkey

from chain.encodings import b64decode

# Of 2024 and 2025: SPL Token 3.5.0, Associated Token Account 1.1.1, Memo 3.0.0, Token-2022 8.0.0.
BEFORE_P_TOKEN = "0.27.1"
_KEPT = Path(sys.prefix) / "program-builds"
_PROGRAMS = [
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
]
# In a process of its own: this one has another solders loaded.
_SHOW = """
import base64, json, sys
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
vm = LiteSVM()
print(json.dumps({
    key: [account.lamports, base64.b64encode(account.data).decode(), str(account.owner)]
    for key in sys.argv[1:] if (account := vm.get_account(Pubkey.from_string(key)))
}))
"""


@cache
def programs_of(version: str) -> dict[Pubkey, Account]:
    """The program accounts, code and all, that the release of solders has; fetched once."""
    folder = _KEPT / version
    if not folder.exists():
        _fetch(version, folder)
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW, *_PROGRAMS],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        check=True,
    )
    return {
        Pubkey.from_string(key): Account(
            lamports, b64decode(data), Pubkey.from_string(owner), True, 2**64 - 1
        )
        for key, (lamports, data, owner) in json.loads(shown.stdout).items()
    }


def _fetch(version: str, folder: Path) -> None:
    wheels = folder.with_suffix(".wheels")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-input",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            f"solders=={version}",
            "--dest",
            str(wheels),
        ],
        check=True,
    )
    partial = folder.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(partial)
    with contextlib.suppress(OSError):  # another worker was quicker
        partial.rename(folder)
