"""The object store of cold storage: S3, GCS, Azure or a folder, through obstore.

obstore is imported with the first store that is opened: it takes 7 MB of memory.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

Options = Mapping[str, str | int | bool]

# Options of the HTTP client; all others are the store's own.
_OF_CLIENT = frozenset(
    ("allow_http", "allow_invalid_certificates", "proxy_url", "proxy_ca_certificate", "user_agent")
)
# A refused or broken connection and a 5xx are tried again so often, within the time limit.
_RETRIES = 2
_CONNECT_SECONDS = 5
# A store that let a request time out is not asked again for so long, or for the time limit if that
# is less: those who wait behind that request would each wait as long.
_AWAY_SECONDS = 5.0
_PART_BYTES = 8 << 20
_ADDRESS = re.compile(r"\w+://\S+")
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")
_MOST_REASON = 200


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
    """The objects below a URL (s3, gs, az or file). A request gives up after `timeout_seconds`,
    with its retries after twice that. Open it in the process that uses it: its threads do not
    survive a fork, and a child forked after that is refused. Safe for threads. Every method raises
    StoreFault.
    """

    def __init__(self, url: str, options: Options, *, timeout_seconds: int) -> None:
        global _owner
        if _owner not in (None, os.getpid()):
            raise StoreUnreachable("", "this process was forked from one that uses the store")
        _owner = os.getpid()
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self._failures = (BaseError, OSError, ValueError)
        self._timeout = timeout_seconds
        self._away_until = 0.0
        # By the length: a secret that is part of another is not left there in part.
        texts = {str(value) for value in options.values() if not isinstance(value, bool)}
        self._secrets = sorted((each for each in texts if len(each) > 3), key=len, reverse=True)
        self._root = _folder_of(url)
        try:
            if self._root is None:
                self._store: Any = from_url(url, **_parameters(options, timeout_seconds))
            elif not self._root.is_dir():
                raise NoSuchStore("", "the folder does not exist")
            else:
                self._store = from_url(url)
        except self._failures as error:
            raise BadStoreOptions("", self._reason(error)) from None

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
                if "InvalidRange" in str(error) or "416" in str(error):
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
            if _code_of(error) in ("NoSuchBucket", "ContainerNotFound") or "bucket" in str(error):
                raise NoSuchStore("", "the bucket does not exist") from None
            raise NoSuchObject(name, "there is no such object") from None
        except self._failures as error:
            now = time.monotonic()
            if self._root is None and now - started >= self._timeout:
                self._away_until = now + min(_AWAY_SECONDS, self._timeout)
            raise _fault_of(error)(name, self._reason(error)) from None

    def _check_root(self, name: str) -> None:
        """A disk that is not mounted is not taken for an empty one."""
        if self._root is not None and not self._root.is_dir():
            raise NoSuchStore(name, "the store's folder does not exist")

    def _reason(self, error: Exception) -> str:
        """The first line, which names the outcome, without addresses, secrets and what the store
        sent but its code.
        """
        first = str(error).partition("\n")[0]
        code = _code_of(error)
        text = _ADDRESS.sub("(address)", first.partition("<")[0]).rstrip(" :\"'")
        if code and code not in text:
            text = f"{text}: {code}"
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text[:_MOST_REASON]


def _folder_of(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _parameters(options: Options, timeout_seconds: int) -> dict[str, Any]:
    timeout = timedelta(seconds=timeout_seconds)
    client = {name: value for name, value in options.items() if name in _OF_CLIENT}
    return {
        "config": {name: value for name, value in options.items() if name not in _OF_CLIENT},
        "client_options": {
            **client,
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
    text = str(error)
    if isinstance(error, refusals) or re.search(r"status 40[13]\b|Forbidden", text):
        return StoreRefuses
    if _code_of(error) in ("NoSuchBucket", "ContainerNotFound"):
        return NoSuchStore
    if isinstance(error, exceptions.UnknownConfigurationKeyError):
        return BadStoreOptions
    return StoreUnreachable


def _code_of(error: Exception) -> str:
    """What an S3 or Azure store calls its refusal."""
    found = _CODE.search(str(error))
    return found[1] if found else ""


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
