"""Byte ranges of an archive's files: over HTTP, from an object store or from a folder."""

import time
from functools import cached_property

from columns.caches import ENTRY_BYTES, ByteCache
from upstream.object_store import NoSuchObject, ObjectStore, StoreFault
from upstream.old_faithful.errors import Damaged, Unreachable


class _Options:
    """What the environment variables do not say: an archive may be read without TLS."""

    def for_client(self) -> dict[str, str]:
        return {"allow_http": "true"}

    def for_store(self) -> dict[str, str]:
        return {}


class Archive:
    """The files below a URL (http, https, s3, gs, az or file), whose ranges are cached in
    `cache_bytes` of memory. A request gives up after `timeout_seconds`. Credentials of the object
    stores come from their usual environment variables. Open it in the process that uses it: its
    connections belong to threads that do not survive a fork.
    """

    def __init__(self, url: str, *, timeout_seconds: int, cache_bytes: int) -> None:
        self.timeout_seconds = timeout_seconds
        self.cache: ByteCache[bytes] = ByteCache(cache_bytes, entry_bytes=ENTRY_BYTES)
        self._url = url

    @cached_property
    def _store(self) -> ObjectStore:
        return ObjectStore(self._url, _Options(), timeout_seconds=self.timeout_seconds)

    def reading(self) -> "Reading":
        """For the reads of one call."""
        return Reading(self, time.monotonic() + self.timeout_seconds)

    def fetch(self, path: str, start: int, size: int) -> bytes:
        """Up to `size` bytes, fewer at the file's end. Raises Unreachable."""
        try:
            return self._store.get_range(path, start, size)
        except NoSuchObject:
            raise NoSuchFile(path, "no such file") from None
        except StoreFault as fault:
            raise Unreachable(path, fault.reason) from None

    def whole(self, path: str, most: int) -> bytes | None:
        """A small file; None where there is none. Raises Unreachable."""
        try:
            found = self.fetch(path, 0, most + 1)
        except NoSuchFile:
            return None
        if len(found) > most:
            raise Damaged(path, f"more than {most} bytes")
        return found


class NoSuchFile(Unreachable):
    """The archive is there, and does not have the file."""


class Reading:
    """The reads of one call: they end at a common deadline, and what they took from the cache is
    dropped from it when it proves to be damaged.
    """

    def __init__(self, archive: Archive, deadline: float) -> None:
        self.archive = archive
        self._deadline = deadline
        self._used: list[tuple[str, int, int]] = []

    def cached(self, path: str, start: int, size: int) -> bytes:
        """`size` bytes, kept for other calls. Raises Unreachable, Damaged where the file ends."""
        key = (path, start, size)
        self._used.append(key)
        return self.archive.cache.get(key, lambda: self.read(path, start, size))

    def cached_start(self, path: str, size: int) -> bytes:
        """The first bytes of a file, fewer where it is shorter."""
        key = (path, 0, size)
        self._used.append(key)
        return self.archive.cache.get(key, lambda: self._fetch(path, 0, size))

    def read(self, path: str, start: int, size: int) -> bytes:
        """The same, not kept."""
        found = self._fetch(path, start, size)
        if len(found) != size:
            raise Unreachable(path, f"{len(found)} bytes instead of {size} from {start}")
        return found

    def whole(self, path: str, most: int) -> bytes | None:
        """A small file, not kept; None where there is none."""
        self._check_time(path)
        return self.archive.whole(path, most)

    def forget(self) -> None:
        """Drops from the cache what this call read."""
        self.archive.cache.drop(self._used)

    def _fetch(self, path: str, start: int, size: int) -> bytes:
        self._check_time(path)
        return self.archive.fetch(path, start, size)

    def _check_time(self, path: str) -> None:
        if time.monotonic() > self._deadline:
            raise Unreachable(path, f"not read within {self.archive.timeout_seconds} s")
