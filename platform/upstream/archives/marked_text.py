"""Text with a byte order mark, and text in UTF-16, as UTF-8: PowerShell writes both."""

import codecs
from collections.abc import Iterator

from upstream.archives.compression import ByteStream, Source, plain
from upstream.archives.errors import Unreadable

_CHUNK = 1 << 16
_CODECS = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"{\0": "utf-16-le",
    b"[\0": "utf-16-le",
    b"\0{": "utf-16-be",
    b"\0[": "utf-16-be",
}


def readable(source: Source) -> ByteStream:
    """The source's bytes, unpacked; text in UTF-8 and without a mark."""
    stream = plain(source)
    if stream.peek(3) == codecs.BOM_UTF8:
        stream.read(3)
        return stream
    codec = _CODECS.get(stream.peek(2))
    return stream if codec is None else ByteStream(_recoded(stream, codec))


def _recoded(stream: ByteStream, codec: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        while chunk := stream.read(_CHUNK):
            if text := decoder.decode(chunk):
                yield text.encode()
        decoder.decode(b"", final=True)
    except UnicodeError:
        raise Unreadable("", "the UTF-16 text is damaged or ends too early") from None
