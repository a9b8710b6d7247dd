"""Messages of gRPC on the wire: five bytes before each, and the encodings that both sides know."""

import zlib
from collections.abc import Callable, Iterator, Mapping

import zstandard

from upstream.grpc.status import (
    INTERNAL,
    INVALID_ARGUMENT,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    GrpcStatus,
)

# A request with ten thousand accounts has half a megabyte.
MOST_REQUEST = 4 * 1_048_576
ACCEPTED = "identity,gzip,zstd"
# Shorter messages are sent as they are: they would hardly get shorter.
_LEAST_COMPRESSED = 512
_LEVEL = 1
_PREFIX = 5
_GZIP = 31

Compress = Callable[[bytes], bytes]


def _gzip(data: bytes) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return compressor.compress(data) + compressor.flush()


def _zstd() -> Compress:
    return zstandard.ZstdCompressor(level=_LEVEL).compress


_COMPRESSORS: Mapping[str, Callable[[], Compress]] = {"gzip": lambda: _gzip, "zstd": _zstd}


class Framing:
    """Frames the messages of one call. `encoding` is the responses' own: that of the requests, else
    the first that the client accepts and we have.
    """

    def __init__(self, requests: str, accepted: str) -> None:
        """Raises GrpcStatus for an encoding of the requests that is not known."""
        if requests not in ("identity", *_COMPRESSORS):
            raise GrpcStatus(
                UNIMPLEMENTED, f"grpc-encoding {requests[:50]} is not one of gzip, zstd"
            )
        self._requests = requests
        names = [requests] if requests != "identity" else accepted.lower().split(",")
        known = (name.strip() for name in names)
        self.encoding = next((e for e in known if e in ("identity", *_COMPRESSORS)), "identity")
        make = _COMPRESSORS.get(self.encoding)
        self._compress = None if make is None else make()
        self._received = bytearray()

    def framed(self, message: bytes) -> bytes:
        if self._compress is not None and len(message) >= _LEAST_COMPRESSED:
            packed = self._compress(message)
            return b"\1" + len(packed).to_bytes(4, "big") + packed
        return b"\0" + len(message).to_bytes(4, "big") + message

    def received(self, data: bytes) -> Iterator[bytes]:
        """The whole messages that the data completes. Raises GrpcStatus."""
        buffer = self._received
        buffer += data
        while len(buffer) >= _PREFIX:
            size = int.from_bytes(buffer[1:_PREFIX], "big")
            if size > MOST_REQUEST:
                text = f"a request of {size} bytes, and {MOST_REQUEST} are the most"
                raise GrpcStatus(RESOURCE_EXHAUSTED, text)
            if len(buffer) < _PREFIX + size:
                return
            flag, message = buffer[0], bytes(buffer[_PREFIX : _PREFIX + size])
            del buffer[: _PREFIX + size]
            if flag > 1:
                raise GrpcStatus(INTERNAL, "not a gRPC message")
            yield self._unpacked(message) if flag else message

    @property
    def unfinished(self) -> int:
        """Bytes of a message that is not whole yet."""
        return len(self._received)

    def forget(self) -> int:
        """Drops the bytes of a message that is not whole: how many they were."""
        size = len(self._received)
        self._received = bytearray()
        return size

    def _unpacked(self, message: bytes) -> bytes:
        try:
            if self._requests == "gzip":
                unpacker = zlib.decompressobj(_GZIP)
                found = unpacker.decompress(message, MOST_REQUEST)
                is_whole = unpacker.eof
            elif self._requests == "zstd":
                # At most so much is unpacked, whatever the frame says of itself.
                reader = zstandard.ZstdDecompressor(max_window_size=2**23).stream_reader(message)
                found = reader.read(MOST_REQUEST)
                is_whole = not reader.read(1)
            else:
                raise GrpcStatus(INTERNAL, "a compressed message without grpc-encoding")
        except (zlib.error, zstandard.ZstdError):
            text = f"a message that is no {self._requests}"
            raise GrpcStatus(INVALID_ARGUMENT, text) from None
        if not is_whole:
            text = f"a request that unpacks to more than {MOST_REQUEST} bytes, or is cut off"
            raise GrpcStatus(RESOURCE_EXHAUSTED, text)
        return found
