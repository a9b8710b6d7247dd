"""Snapshot archives of a validator: every account as it stood at one slot.

A tar of `version`, `snapshots/<slot>/<slot>` and `accounts/<slot>.<id>`: the last are storages,
accounts one after another, each behind 136 bytes of head and at a multiple of 8. Up to Agave 4.3
the manifest declares how far a storage goes (see snapshot_manifest), and behind that a file may
hold anything. Since 4.4 it names no storages: each ends where its file ends.
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from chain.accounts import AccountWrite
from chain.encodings import b58decode
from chain.units import I64_MAX, Slot
from upstream.archives.account_json import LARGEST_ACCOUNT
from upstream.archives.bincode import Misfit
from upstream.archives.compression import ByteStream, Source, plain
from upstream.archives.containers import Member, is_tar, tar_members
from upstream.archives.errors import BadSnapshot, Unreadable
from upstream.archives.snapshot_manifest import Manifest, Storage, read_manifest

KNOWN_VERSION = "1.2.0"
_LZ4 = b"\x04\x22\x4d\x18"
_TAR_HEADER = 512
# write_version, data_len, pubkey, lamports, rent_epoch, owner, executable, padding, hash
_HEAD = struct.Struct("<QQ32sQQ32sB7x32x")
_MANIFEST = re.compile(r"(?:\./)?snapshots/([0-9]{1,19})/\1")
_STORAGE = re.compile(r"(?:\./)?accounts/([0-9]{1,19})\.([0-9]{1,20})")
_INCREMENTAL = re.compile(r"incremental-snapshot-([0-9]{1,18})-[0-9]{1,18}-")
_NAMED_HASH = re.compile(
    r"(?:incremental-snapshot-[0-9]{1,18}|snapshot)-[0-9]{1,18}-([1-9A-HJ-NP-Za-km-z]{32,44})(?:\..*)?"
)
_VERSION = re.compile(r"(?:\./)?version")

# Reported now and then: bytes of the file read so far, bytes in all.
Progress = Callable[[int, int], None]


class StoredAccount(NamedTuple):
    """An account in a storage of that slot. One account may be in several: the highest slot's
    counts, and of one slot's the last; with 0 lamports it is gone.
    """

    slot: Slot
    account: AccountWrite


class Snapshot:
    """An open archive; iterate once, close or use as a context manager.

    `slot` is what the archive says its slot is, known once iteration is over; so is `warning`:
    that the manifest could not be followed, so that every storage was read to its file's end. The
    `manifest` is there before the first account, None where it cannot be followed; without it, or
    if it names no storages, `names_storages` is False.
    """

    def __init__(self, path: Path, progress: Progress = lambda position, size: None) -> None:
        self.path = path
        self.slot: Slot | None = None
        self.warning: str | None = None
        self.manifest: Manifest | None = None
        self._lengths: dict[Storage, int] | None = None
        self._lowest: Slot | None = None
        self._progress = progress
        self._size = path.stat().st_size
        self._file = path.open("rb")

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def declared_base(self) -> Slot | None:
        """The slot of the full snapshot that the file's name says it builds on; None for a full
        one.
        """
        named = _INCREMENTAL.match(self.path.name)
        return None if named is None else Slot(int(named[1]))

    @property
    def named_hash(self) -> bytes | None:
        """The hash that the file's name has, 32 bytes: the checksum of the lattice hash of all
        accounts, or one of an older kind. None where it has none.
        """
        named = _NAMED_HASH.fullmatch(self.path.name)
        found = b"" if named is None else b58decode(named[1])
        return found if len(found) == 32 else None

    @property
    def is_whole(self) -> bool:
        """All has been read, and every storage that the manifest names was there: no incremental
        archive. False where the manifest cannot be followed or names none: then only the sum of
        all accounts shows that none is missing.
        """
        return self._lengths == {}

    @property
    def names_storages(self) -> bool:
        return self._lengths is not None

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
                self._read_manifest(_slot(manifest[1], name), member, name)
            elif storage:
                if not version_seen:
                    raise Unreadable(f"member {name}", "it comes before the version")
                slot = _slot(storage[1], name)
                live = self._live((slot, int(storage[2])), member, name)
                yield from _storage(slot, live, name, exact=live is not member)
        if not version_seen:
            raise Unreadable("", "no snapshot archive: there is no version in it")
        if self.slot is None:
            raise Unreadable("", "the archive has no manifest")
        self._check_all_came()

    def _read_manifest(self, slot: Slot, member: Member, name: str) -> None:
        if self.slot is not None:
            raise Unreadable(f"member {name}", "there is another manifest before it")
        self.slot = slot
        try:
            if self._lowest is not None:
                raise Misfit("it comes after the first storage")
            self.manifest = read_manifest(member, member.left, slot)
            # None named: each is read to the end of its file, as since Agave 4.4.
            self._lengths = dict(self.manifest.lengths) or None
        except Misfit as misfit:
            self.warning = (
                f"the manifest cannot be followed ({misfit}); each storage is read to the end of"
                " its file"
            )

    def _live(self, storage: Storage, member: Member, name: str) -> Source:
        """The part of a storage's file that is accounts."""
        self._lowest = storage[0] if self._lowest is None else min(storage[0], self._lowest)
        if self._lengths is None:
            return member
        # Taken out, so that what is left in the end are those that did not come.
        length = self._lengths.pop(storage, None)
        if length is None:
            raise Unreadable(f"member {name}", "the manifest does not name it, or it came before")
        if length > member.left:
            reason = f"it has {member.left} bytes where the manifest declares {length}"
            raise Unreadable(f"member {name}", reason)
        return _Part(member, length)

    def _check_all_came(self) -> None:
        # An incremental archive has the storages above some slot, its manifest all there are.
        lowest = -1 if self._lowest is None else self._lowest
        wanting = [storage for storage in self._lengths or () if storage[0] > lowest]
        if wanting:
            slot, number = min(wanting)
            reason = f"the archive is without it, and {len(wanting)} storages in all"
            raise Unreadable(f"member accounts/{slot}.{number}", reason)


class _Part:
    """The first bytes of a source."""

    def __init__(self, source: Source, size: int) -> None:
        self._source = source
        self._left = size

    def read(self, size: int, /) -> bytes:
        chunk = self._source.read(min(size, self._left))
        self._left -= len(chunk)
        return chunk


def _slot(digits: str, name: str) -> Slot:
    if int(digits) > I64_MAX:
        raise Unreadable(f"member {name}", "its slot is out of range")
    return Slot(int(digits))


def _check_version(member: Source) -> None:
    found = member.read(64).strip()
    if found != KNOWN_VERSION.encode():
        text = found.decode("ascii", "backslashreplace")
        raise Unreadable("version", f"{text!r} is not known; expected {KNOWN_VERSION!r}")


def _storage(slot: Slot, live: Source, name: str, *, exact: bool) -> Iterator[StoredAccount]:
    """The accounts up to the end of `live`, or where that end is not exact, up to its zeros."""
    at = 0
    while head := live.read(_HEAD.size):
        place = f"member {name}, byte {at}"
        if not any(head):
            if exact:
                raise Unreadable(place, "no account stands here")
            _expect_zeros(live, name, at)
            return
        if len(head) < _HEAD.size:
            raise Unreadable(place, "the storage ends inside an account")
        version, length, pubkey, lamports, rent_epoch, owner, executable = _HEAD.unpack(head)
        if length > LARGEST_ACCOUNT or executable > 1:
            # Where only the tar declares the end, anything may follow the true one: no guess.
            raise Unreadable(place, "no account stands here")
        data = live.read(length)
        if len(data) < length:
            raise Unreadable(place, "the storage ends inside an account")
        padding = live.read(-length % 8)
        at += _HEAD.size + length + len(padding)
        yield StoredAccount(
            slot,
            AccountWrite(pubkey, lamports, owner, data, executable == 1, rent_epoch, version, None),
        )


def _expect_zeros(live: Source, name: str, at: int) -> None:
    """A storage may end in zeros, and in nothing else."""
    while chunk := live.read(1 << 16):
        if any(chunk):
            raise Unreadable(f"member {name}, byte {at}", "no account stands here")
