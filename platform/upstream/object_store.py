"""An object store: S3, GCS, Azure, files over HTTP or a folder, through obstore.

obstore is imported with the first store that is opened: it takes 7 MB of memory.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

# A store that let a request time out is not asked again for so long, or for the time limit if that
# is less: those who wait behind that request would each wait as long.
_AWAY_SECONDS = 5.0
# A refused or broken connection and a 5xx are tried again so often, within the time limit.
_RETRIES = 2
_CONNECT_SECONDS = 5
_PART_BYTES = 8 << 20
_STATUS = re.compile(r"\bstatus(?: code)?:? (\d{3})\b")
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")


class Options(Protocol):
    """Endpoint, region, credentials and the like, by name."""

    def for_client(self) -> dict[str, str]:
        """Those of the HTTP client."""

    def for_store(self) -> dict[str, str]:
        """Those of the store itself."""


# What a failure is called whose text has one of these.
_REASONS = (
    ("the store's host name is unknown", "dns error", "failed to lookup"),
    ("the store's host does not accept connections", "kind: connect", "connection refused"),
    ("the store did not respond in time", "kind: timeout", "timedout", "timed out"),
    ("the store's disk is full", "no space left", "storagefull"),
    ("the store does not send parts of files", "range request not supported"),
    ("the credentials are incomplete or cannot be fetched", "credential"),
)


class StoreFault(Exception):
    """Something of the store that failed; `reason` has neither addresses nor secrets."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}" if name else reason)
        self.name = name
        self.reason = reason


class NoSuchObject(StoreFault):
    """The store is there and has no such object."""


class NoSuchStore(StoreFault):
    """The bucket, container or folder does not exist."""


class StoreRefuses(StoreFault):
    """The credentials are missing or wrong, or do not permit this."""


class StoreUnreachable(StoreFault):
    """No response, or not within the time limit, or a broken one. Another try may succeed."""


class BadStoreOptions(StoreFault):
    """Options that the store does not know."""


class Listed(NamedTuple):
    """An object's name below the store's prefix, and its bytes."""

    name: str
    size: int


# The process whose threads obstore started: in a child that it forked later, requests would hang.
_owner: int | None = None


class ObjectStore:
    """The objects below a URL (s3, gs, az, http, https or file). A request gives up after
    `timeout_seconds`, with its retries after twice that. Open it in the process that uses it: its
    threads do not survive a fork, and a child forked after that is refused. Safe for threads. Every
    method raises StoreFault.
    """

    def __init__(self, url: str, options: Options | None, *, timeout_seconds: int) -> None:
        global _owner
        if _owner not in (None, os.getpid()):
            raise StoreUnreachable("", "this process was forked from one that uses the store")
        _owner = os.getpid()
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self._failures = (BaseError, OSError, ValueError)
        self._timeout = timeout_seconds
        self._away_until = 0.0
        self._root = _folder_of(url)
        try:
            if self._root is None:
                self._store: Any = from_url(url, **_parameters(options, timeout_seconds))
            elif not self._root.is_dir():
                raise NoSuchStore("", "the folder does not exist")
            else:
                self._store = from_url(url)
        except self._failures:
            raise BadStoreOptions("", "the store does not take its address or options") from None

    def put(self, name: str, file: BinaryIO) -> None:
        """The object is the file's content, from where the file stands. In a folder it is on the
        disk when this returns.
        """
        import obstore

        self._check_root(name)
        with self._asking(name):
            obstore.put(self._store, name, file, chunk_size=_PART_BYTES)
            if self._root is not None:
                _sync(self._root, name)

    def get_range(self, name: str, start: int, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the object's end; NoSuchObject where there is none."""
        import obstore

        with self._asking(name):
            try:
                found = bytes(obstore.get_range(self._store, name, start=start, length=size))
            except self._failures as error:
                if _begins_after_its_end(error):
                    return b""
                raise
        if len(found) > size:
            raise StoreUnreachable(name, f"{len(found)} bytes were sent instead of {size}")
        return found

    def pieces(self, name: str) -> Iterator[bytes]:
        """The whole object, some megabytes at a time."""
        size = self.head(name)
        for start in range(0, size, _PART_BYTES):
            yield self.get_range(name, start, min(_PART_BYTES, size - start))

    def head(self, name: str) -> int:
        """The object's bytes."""
        import obstore

        with self._asking(name):
            return int(obstore.head(self._store, name)["size"])

    def delete(self, name: str) -> None:
        """The object is gone, or there was none."""
        import obstore

        try:
            with self._asking(name):
                obstore.delete(self._store, name)
        except NoSuchObject:
            pass

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """The objects whose names begin with the prefix, which ends where a folder's name does."""
        import obstore

        with self._asking(prefix):
            for some in obstore.list(self._store, prefix or None):
                for each in some:
                    yield Listed(each["path"], int(each["size"]))

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        if started < self._away_until:
            raise StoreUnreachable(name, "the store did not respond a moment ago")
        try:
            yield
        except FileNotFoundError as error:
            self._check_root(name)
            if _names_no_bucket(error):
                raise NoSuchStore("", "the bucket does not exist") from None
            raise NoSuchObject(name, "there is no such object") from None
        except self._failures as error:
            now = time.monotonic()
            if self._root is None and now - started >= self._timeout:
                self._away_until = now + min(_AWAY_SECONDS, self._timeout)
            raise _fault_of(error)(name, _reason_of(error)) from None

    def _check_root(self, name: str) -> None:
        """A disk that is not mounted is not taken for an empty one."""
        if self._root is not None and not self._root.is_dir():
            raise NoSuchStore(name, "the store's folder does not exist")


def _folder_of(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _parameters(options: Options | None, timeout_seconds: int) -> dict[str, Any]:
    timeout = timedelta(seconds=timeout_seconds)
    return {
        "config": options.for_store() if options else {},
        "client_options": {
            **(options.for_client() if options else {}),
            "timeout": timeout,
            "connect_timeout": min(timeout, timedelta(seconds=_CONNECT_SECONDS)),
        },
        "retry_config": {
            "max_retries": _RETRIES,
            "retry_timeout": timeout,
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=1),
                "base": 2,
            },
        },
    }


def _fault_of(error: Exception) -> type[StoreFault]:
    from obstore import exceptions

    refusals = (exceptions.UnauthenticatedError, exceptions.PermissionDeniedError, PermissionError)
    if isinstance(error, refusals) or _status_of(error) in (401, 403):
        return StoreRefuses
    if _names_no_bucket(error):
        return NoSuchStore
    if isinstance(error, exceptions.UnknownConfigurationKeyError):
        return BadStoreOptions
    return StoreUnreachable


def _code_of(error: Exception) -> str:
    """What an S3 or Azure store calls its refusal."""
    found = _CODE.search(str(error))
    return found[1] if found else ""


def _reason_of(error: Exception) -> str:
    """Words of ours: the client's own have addresses, and some responses of S3 have parts of the
    credentials.
    """
    if _names_no_bucket(error):
        return "the bucket does not exist"
    code = f" ({_code_of(error)})" if _code_of(error) else ""
    if status := _status_of(error):
        return f"the store responded with status {status}{code}"
    if _fault_of(error) is StoreRefuses:
        return f"access is denied{code}"
    if _fault_of(error) is BadStoreOptions:
        return "the store does not know one of its options"
    lowered = str(error).lower()
    for reason, *signs in _REASONS:
        if any(sign in lowered for sign in signs):
            return reason
    return "the connection broke, or the response was not complete"


def _status_of(error: Exception) -> int:
    """The HTTP status of a refusal; 0 where there was none. Names of objects have digits too."""
    found = _STATUS.search(str(error))
    return int(found[1]) if found else 0


def _begins_after_its_end(error: Exception) -> bool:
    """A folder has words of its own for it."""
    if _code_of(error) == "InvalidRange" or _status_of(error) == 416:
        return True
    return "StartTooLarge" in str(error)


def _names_no_bucket(error: Exception) -> bool:
    """GCS has no code for it."""
    if _code_of(error) in ("NoSuchBucket", "ContainerNotFound"):
        return True
    return "bucket does not exist" in str(error)


def _sync(root: Path, name: str) -> None:
    """The file and the folders above it survive a loss of power."""
    path = root / name
    for each in (path, *path.parents):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if each == root:
            return
