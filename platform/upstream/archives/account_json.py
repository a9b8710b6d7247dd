"""Accounts as JSON, one in a file, as `solana account --output json` writes them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard
from solders.pubkey import Pubkey

from chain.accounts import MOST_ACCOUNT_BYTES, AccountWrite
from chain.encodings import b58decode, b64decode
from chain.units import U64_MAX
from upstream.archives.errors import BadSnapshot

# The runtime's own limit on an account's data.
LARGEST_ACCOUNT = MOST_ACCOUNT_BYTES
_LARGEST_FILE = 64 * 1024 * 1024


class _Account(msgspec.Struct, rename="camel"):
    lamports: int
    data: tuple[str, str]
    owner: str
    executable: bool
    rent_epoch: int


class _File(msgspec.Struct):
    pubkey: str
    account: _Account


_decode = msgspec.json.Decoder(_File).decode


def accounts_of(path: Path) -> Iterator[AccountWrite]:
    """The account of a file, or of every *.json below a folder; raises BadSnapshot, OSError."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise BadSnapshot(path, "", "there is no .json file below it")
    seen: dict[bytes, Path] = {}
    for file in files:
        account = _account(file)
        other = seen.setdefault(account.pubkey, file)
        if other is not file:
            key = Pubkey.from_bytes(account.pubkey)
            raise BadSnapshot(file, "", f"account {key} is in {other} already")
        yield account


def _account(file: Path) -> AccountWrite:
    if file.stat().st_size > _LARGEST_FILE:
        raise BadSnapshot(file, "", f"a file of more than {_LARGEST_FILE} bytes is no account")
    try:
        found = _decode(file.read_bytes())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadSnapshot(file, "", str(error)) from None
    account = found.account
    for name in ("lamports", "rent_epoch"):
        if not 0 <= getattr(account, name) <= U64_MAX:
            raise BadSnapshot(file, f"account.{name}", "expected a u64")
    return AccountWrite(
        _key(file, "pubkey", found.pubkey),
        account.lamports,
        _key(file, "account.owner", account.owner),
        _data(file, *account.data),
        account.executable,
        account.rent_epoch,
        0,
        None,
    )


def _key(file: Path, place: str, text: str) -> bytes:
    try:
        return bytes(Pubkey.from_string(text))
    except ValueError:
        raise BadSnapshot(file, place, f"no pubkey: {text[:64]!r}") from None


def _data(file: Path, text: str, encoding: str) -> bytes:
    try:
        match encoding:
            case "base64":
                data = b64decode(text)
            case "base58":
                data = b58decode(text)
            case "base64+zstd":
                with zstandard.ZstdDecompressor().stream_reader(b64decode(text)) as reader:
                    data = reader.read(LARGEST_ACCOUNT + 1)
            case _:
                expected = "expected base64, base58 or base64+zstd"
                raise BadSnapshot(file, "account.data", f"encoding {encoding[:64]!r}; {expected}")
    except (ValueError, zstandard.ZstdError) as error:
        raise BadSnapshot(file, "account.data", f"no {encoding}: {error}") from None
    if len(data) > LARGEST_ACCOUNT:
        raise BadSnapshot(file, "account.data", f"more than {LARGEST_ACCOUNT} bytes")
    return data
