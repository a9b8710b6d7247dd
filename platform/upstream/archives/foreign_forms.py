"""The names of files that people take for files of blocks."""

import re

# By the first bytes.
_BEGINNINGS = {
    b"\xfd7zXZ\0": "xz data, which is not read: unpack it first",
    b"BZh": "bzip2 data, which is not read: unpack it first",
    b"PK\x03\x04": "a zip archive, which is not read: unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive, which is not read: unpack it first",
    b"\x04\x22\x4d\x18": "lz4 data, which is not read: unpack it first",
    b"\xff\x06\0\0sNaPpY": "snappy data, which is not read: unpack it first",
    b"\x1f\x8b": "gzip data inside of packed data: unpack it once",
    b"\x28\xb5\x2f\xfd": "zstd data inside of packed data: unpack it once",
    b"PAR1": "a Parquet file, which is not read",
    b"SQLite format 3": "an SQLite database, which is not read",
    b"HTTP/": "an HTTP response with its headers: keep the body alone",
    b"<": "an HTML or XML page, no blocks",
    b"data:": "a stream of events (text/event-stream): keep what follows `data:` alone",
    b"event:": "a stream of events (text/event-stream): keep what follows `data:` alone",
    b'"': "a JSON text (in quotes): keep its content alone",
    b"version https://git-lfs": "a pointer of Git LFS, not the file that it stands for",
}
_BASE64 = re.compile(rb"[A-Za-z0-9+/=_\s-]{256,}")
_SPACE = b" \t\r\n"


def foreign_form(start: bytes) -> str:
    """What a file that begins so is, in words; empty if that is not known."""
    text = start.lstrip(_SPACE)
    for beginning, name in _BEGINNINGS.items():
        if start.startswith(beginning) or text.startswith(beginning):
            return name
    if _BASE64.fullmatch(start):
        return "text that may be base64: decode it first"
    return ""
