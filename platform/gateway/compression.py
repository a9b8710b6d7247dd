"""Compresses responses above 1 KiB with zstd or gzip, as the client prefers."""

import zlib
from functools import lru_cache
from typing import Any

import zstandard

from eventloop.faces import in_thread
from eventloop.of_thread import OfThread

MINIMUM = 1024
# Bytes that are compressed on the loop.
_MOST_ON_LOOP = 16_384
# The fastest levels: on chain JSON they save nearly as much as higher ones, at a fraction of the
# time.
_ZSTD_LEVEL = 1
_GZIP_LEVEL = 1
_GZIP_WINDOW = 31  # zlib's number for a 32 KiB window in a gzip frame


_zstd = OfThread(lambda: zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_content_size=True))


def compress(chunks: list[bytes], accept_encoding: str) -> tuple[list[bytes], str | None]:
    """The chunks to send and their Content-Encoding; None: not compressed."""
    size = sum(map(len, chunks))
    if size <= MINIMUM:
        return chunks, None
    encoding = chosen(accept_encoding[:200])
    if encoding == "zstd":
        writer = _zstd.value.compressobj(size=size)
        pieces = [writer.compress(chunk) for chunk in chunks]
        pieces.append(writer.flush())
    elif encoding == "gzip":
        deflate = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        pieces = [deflate.compress(chunk) for chunk in chunks]
        pieces.append(deflate.flush())
    else:
        return chunks, None
    return [piece for piece in pieces if piece], encoding


async def acompress(chunks: list[bytes], accept_encoding: str) -> tuple[list[bytes], str | None]:
    """As compress; a thread does what would hold up the loop."""
    if sum(map(len, chunks)) <= _MOST_ON_LOOP:
        return compress(chunks, accept_encoding)
    return await in_thread(compress, chunks, accept_encoding)


class Compressor:
    """Compresses one long response piece by piece."""

    def __init__(self, encoding: str) -> None:
        self._stream: Any = (
            zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
            if encoding == "zstd"
            else zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        )

    def piece(self, data: bytes) -> bytes:
        """The compressed bytes so far, which may be empty."""
        return bytes(self._stream.compress(data))

    def end(self) -> bytes:
        return bytes(self._stream.flush())


@lru_cache(maxsize=256)
def chosen(accept_encoding: str, offered: tuple[str, ...] = ("zstd", "gzip")) -> str | None:
    """The offered encoding with the best q-value in an Accept-Encoding header, the first of them on
    a tie; None: plain.
    """
    qualities: dict[str, float] = {}
    for item in accept_encoding.lower().split(","):
        name, *parameters = [part.strip() for part in item.split(";")]
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        qualities[name] = quality
    anything = qualities.get("*", 0.0)
    qualities.setdefault("gzip", qualities.get("x-gzip", anything))
    plain = qualities.get("identity", 0.0)  # left out, it is the last resort
    best = max(offered, key=lambda name: qualities.get(name, anything))
    quality = qualities.get(best, anything)
    return None if quality <= 0 or plain > quality else best
