"""Byte ranges of an archive's files: over HTTP, from an object store or from a folder."""

import re
import time
from collections.abc import Callable
from typing import Any

from columns.caches import ENTRY_BYTES, ByteCache
from upstream.object_requests import request_terms
from upstream.old_faithful.errors import Damaged, Unreachable

# An archive that let a request time out is not asked again for so long, or for the time limit if
# that is less: those who wait behind that request would each wait as long.
_AWAY_SECONDS = 5.0
# An address may hold a token.
_ADDRESS = re.compile(r"\w+://\S+")


class Archive:
    """The files below a URL (http, https, s3, gs, az or file), whose ranges are cached in
    `cache_bytes` of memory. A request gives up after `timeout_seconds`. Credentials of the object
    stores come from their usual environment variables. Open it in the process that uses it: its
    connections belong to threads that do not survive a fork.
    """

    def __init__(self, url: str, *, timeout_seconds: int, cache_bytes: int) -> None:
        # Costs 7 MB of memory that a process without remote history saves.
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self.timeout_seconds = timeout_seconds
        self.cache: ByteCache[bytes] = ByteCache(cache_bytes, entry_bytes=ENTRY_BYTES)
        self.bytes_read = 0
        self.requests = 0
        self._away_until = 0.0
        self._failures = (BaseError, OSError, ValueError)
        # A folder on this machine takes neither time limits nor retries.
        options: dict[str, Any] = (
            {} if url.startswith("file:") else request_terms(timeout_seconds, allow_http=True)
        )
        self._store = from_url(url, **options)

    def reading(self) -> "Reading":
        """For the reads of one call."""
        return Reading(self, time.monotonic() + self.timeout_seconds)

    def fetch(self, path: str, start: int, size: int) -> bytes:
        """Up to `size` bytes, fewer at the file's end. Raises Unreachable."""
        import obstore

        found = self._asked(
            path, lambda: bytes(obstore.get_range(self._store, path, start=start, length=size))
        )
        if len(found) > size:
            raise Unreachable(path, f"{len(found)} bytes were sent instead of {size}")
        return found

    def whole(self, path: str, most: int) -> bytes | None:
        """A small file; None where there is none. Raises Unreachable."""
        import obstore

        def read() -> bytes:
            found = obstore.get(self._store, path)
            size = found.meta["size"]
            if size > most:
                raise Damaged(path, f"{size} bytes, more than {most}")
            return bytes(found.bytes())

        try:
            return self._asked(path, read)
        except NoSuchFile:
            return None

    def _asked(self, path: str, read: Callable[[], bytes]) -> bytes:
        started = time.monotonic()
        if started < self._away_until:
            raise Unreachable(path, "the archive did not respond a moment ago")
        self.requests += 1
        try:
            found = read()
        except FileNotFoundError:
            raise NoSuchFile(path, "no such file") from None
        except self._failures as error:
            now = time.monotonic()
            if now - started >= self.timeout_seconds:
                self._away_until = now + min(_AWAY_SECONDS, self.timeout_seconds)
            raise Unreachable(path, _reason(error)) from None
        self.bytes_read += len(found)
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


def _reason(error: Exception) -> str:
    """The first line, which names the outcome, without addresses; the others are the library's."""
    return _ADDRESS.sub("(address)", str(error).partition("\n")[0])[:300]
