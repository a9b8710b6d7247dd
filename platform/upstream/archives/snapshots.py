"""Snapshot archives of a validator: every account as it stood at one slot.

A tar of `version`, `snapshots/<slot>/<slot>` and `accounts/<slot>.<id>`: the last are storages,
accounts one after another, each behind 136 bytes of head and at a multiple of 8.
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from chain.accounts import AccountWrite
from chain.units import I64_MAX, Slot
from upstream.archives.account_json import LARGEST_ACCOUNT
from upstream.archives.compression import ByteStream, Source, plain
from upstream.archives.containers import is_tar, tar_members
from upstream.archives.errors import BadSnapshot, Unreadable

KNOWN_VERSION = "1.2.0"
_LZ4 = b"\x04\x22\x4d\x18"
_TAR_HEADER = 512
# write_version, data_len, pubkey, lamports, rent_epoch, owner, executable, padding, hash
_HEAD = struct.Struct("<QQ32sQQ32sB7x32x")
_MANIFEST = re.compile(r"(?:\./)?snapshots/([0-9]{1,19})/\1")
_STORAGE = re.compile(r"(?:\./)?accounts/([0-9]{1,19})\.[0-9]{1,20}")
_VERSION = re.compile(r"(?:\./)?version")

# Told now and then: bytes of the file read so far, bytes in all.
Progress = Callable[[int, int], None]


class StoredAccount(NamedTuple):
    """An account in a storage of that slot. One account may be in several: the highest slot's
    counts, and of one slot's the last; with 0 lamports it is gone.
    """

    slot: Slot
    account: AccountWrite


class Snapshot:
    """An open archive; iterate once, close or use as a context manager.

    `slot` is what the archive says its slot is, known once iteration is over.
    """

    def __init__(self, path: Path, progress: Progress = lambda position, size: None) -> None:
        self.path = path
        self.slot: Slot | None = None
        self._progress = progress
        self._size = path.stat().st_size
        self._file = path.open("rb")

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[StoredAccount]:
        """Every stored account; raises BadSnapshot where the archive cannot be read."""
        try:
            yield from self._accounts(self._stream())
        except Unreadable as fault:
            raise BadSnapshot(self.path, fault.place, fault.reason) from None

    def _stream(self) -> ByteStream:
        start = self._file.read(4)
        self._file.seek(0)
        if start == _LZ4:
            raise Unreadable("", "lz4 is not read; unpack it first (lz4 -d), and give the .tar")
        stream = plain(self._file)
        if not is_tar(stream.peek(_TAR_HEADER)):
            raise Unreadable("", "no snapshot archive: expected a tar, plain or zstd")
        return stream

    def _accounts(self, stream: ByteStream) -> Iterator[StoredAccount]:
        version_seen = False
        for name, member in tar_members(stream):
            self._progress(self._file.tell(), self._size)
            storage = _STORAGE.fullmatch(name)
            manifest = _MANIFEST.fullmatch(name)
            if _VERSION.fullmatch(name):
                _check_version(member)
                version_seen = True
            elif manifest:
                self.slot = _slot(manifest[1], name)
            elif storage:
                if not version_seen:
                    raise Unreadable(f"member {name}", "it comes before the version")
                yield from _storage(_slot(storage[1], name), member, name)
        if not version_seen:
            raise Unreadable("", "no snapshot archive: there is no version in it")
        if self.slot is None:
            raise Unreadable("", "the archive has no manifest")


def _slot(digits: str, name: str) -> Slot:
    if int(digits) > I64_MAX:
        raise Unreadable(f"member {name}", "its slot is out of range")
    return Slot(int(digits))


def _check_version(member: Source) -> None:
    found = member.read(64).strip()
    if found != KNOWN_VERSION.encode():
        text = found.decode("ascii", "backslashreplace")
        raise Unreadable("version", f"{text!r} is not known; expected {KNOWN_VERSION!r}")


def _storage(slot: Slot, member: Source, name: str) -> Iterator[StoredAccount]:
    at = 0
    while head := member.read(_HEAD.size):
        if not any(head):
            _expect_zeros(member, name, at)
            return
        place = f"member {name}, byte {at}"
        if len(head) < _HEAD.size:
            raise Unreadable(place, "the storage ends inside an account")
        version, length, pubkey, lamports, rent_epoch, owner, executable = _HEAD.unpack(head)
        if length > LARGEST_ACCOUNT or executable > 1:
            # Behind the true end of an old storage anything may lie; it is not guessed at.
            raise Unreadable(place, "no account stands here")
        data = member.read(length)
        if len(data) < length:
            raise Unreadable(place, "the storage ends inside an account")
        padding = member.read(-length % 8)
        at += _HEAD.size + length + len(padding)
        yield StoredAccount(
            slot,
            AccountWrite(pubkey, lamports, owner, data, executable == 1, rent_epoch, version, None),
        )


def _expect_zeros(member: Source, name: str, at: int) -> None:
    """A storage may end in zeros, and in nothing else."""
    while chunk := member.read(1 << 16):
        if any(chunk):
            raise Unreadable(f"member {name}, byte {at}", "no account stands here")
