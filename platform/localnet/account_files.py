"""Account files: accounts that are given to localnet as JSON, one in a file."""

import binascii
from pathlib import Path
from typing import Annotated

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.encodings import b64decode
from chain.units import U64_MAX


class BadAccountFile(ValueError):
    """Not an account; the text names the file and says why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class _Account(msgspec.Struct, rename="camel"):
    lamports: int
    data: tuple[str, str]
    owner: str
    executable: bool
    rent_epoch: Annotated[int, msgspec.Meta(ge=0)] = U64_MAX


class _File(msgspec.Struct):
    pubkey: str
    account: _Account


_read = msgspec.json.Decoder(_File).decode


def accounts_below(folder: Path) -> dict[Pubkey, Account]:
    """The accounts of a file, or of every *.json below a folder: `{pubkey, account: {lamports,
    data: [text, "base64"], owner, executable, rentEpoch}}`. BadAccountFile, OSError.
    """
    paths = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]
    return dict(account_in(path) for path in paths)


def account_at(address: str, path: Path) -> tuple[Pubkey, Account]:
    """The account of a file, at another address; `-` stands for the file's own. BadAccountFile,
    OSError.
    """
    key, account = account_in(path)
    if address == "-":
        return key, account
    try:
        return Pubkey.from_string(address), account
    except ValueError:
        raise BadAccountFile(path, f"{address}: not an address") from None


def account_in(path: Path) -> tuple[Pubkey, Account]:
    """The account of a file, with its address. BadAccountFile, OSError."""
    try:
        found = _read(path.read_bytes())
        data, encoding = found.account.data
        if encoding != "base64":
            raise BadAccountFile(path, f"data in {encoding!r}; expected base64")
        if not (0 <= found.account.lamports <= U64_MAX):
            raise BadAccountFile(path, "lamports: expected a u64")
        if found.account.rent_epoch > U64_MAX:
            raise BadAccountFile(path, "rentEpoch: expected a u64")
        if found.account.owner == str(addresses.SYSVAR_OWNER):
            raise BadAccountFile(path, "a sysvar: localnet keeps its own")
        return (
            Pubkey.from_string(found.pubkey),
            Account(
                found.account.lamports,
                b64decode(data),
                Pubkey.from_string(found.account.owner),
                found.account.executable,
                found.account.rent_epoch,
            ),
        )
    except BadAccountFile:
        raise
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise BadAccountFile(path, str(error)) from None
