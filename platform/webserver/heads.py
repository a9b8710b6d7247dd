"""Checks of a request's head: framing, Host and target."""

import re

from webserver.requests import Request, path_of
from webserver.responses import Refused

# Content-Lengths with more digits are not even read as numbers.
_MOST_DIGITS = 15
# What a host with its port may be written with (RFC 3986, section 3.2): never nothing, no user.
_HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=\[\]:-]+")
# Request lines of protocols that the parser takes for HTTP.
_OTHERS = re.compile(rb"^\r*[A-Z_-]+ [^\r\n]* (?:RTSP|ICE)/[0-9]\.[0-9]\r?$", re.MULTILINE)
# The last bytes of a request line, by which its protocol is known.
LINE_END = len(b" HTTP/1.1\r\n")
_END = b"\r\n\r\n"
# A method is a token (RFC 9110, section 5.6.2), with one space behind it.
_METHOD = re.compile(rb"(?:\r?\n)*([!#$%&'*+.^_`|~0-9A-Za-z-]+) ")


def end_of_head(data: bytes, begin: int) -> int:
    """Behind the head that began before, or where the data end. The data may begin with the rest
    of such an end.
    """
    if b"\n" in data[begin : len(_END) - 1]:
        return data.index(b"\n", begin) + 1
    found = data.find(_END, begin)
    return found + len(_END) if found >= 0 else len(data)


def end_of_chunks(data: bytes, begin: int) -> int:
    """How much to read of a body in chunks and what follows, so that a request line of another
    protocol, or one that is not whole, is not read with it: a body ends with its line.
    """
    if b" RTSP/" in data or b" ICE/" in data:
        found = _OTHERS.search(data, begin + 1)
        if found is not None:
            return found.start()
    return data.rfind(b"\n", begin) + 1 or len(data)


def method_of(line: bytes) -> str:
    """The method that a request line begins with; empty where that is not one."""
    found = _METHOD.match(line)
    return "" if found is None else found[1].decode()


def judge(request: Request, most: int) -> tuple[Refused | None, bool]:
    """Why the request is refused, None if it is not; and whether its client waits for a
    `100 Continue`. Splits the target into path and query, and reads the body's announced length. A
    body may have `most` bytes.

    The parser refuses a body that is announced in two ways; this refuses what it lets through and
    another server, a proxy in front of this one, could read differently.
    """
    if request.version not in ("1.0", "1.1"):
        return Refused.MALFORMED, False
    # The parser takes no body from it, others do.
    if request.method == "CONNECT":
        return Refused.METHOD_UNKNOWN, False
    hosts, codings, length, expects, is_host = 0, 0, -1, False, True
    for name, value in request.headers:
        lower = name.lower()
        if lower == b"host":
            hosts += 1
            is_host = _HOST.fullmatch(value.strip()) is not None
        elif lower == b"content-length":
            length = int(value) if value.isdigit() and len(value) <= _MOST_DIGITS else 1 << 62
        elif lower == b"transfer-encoding":
            codings += 1
            if value.strip().lower() != b"chunked":
                return Refused.MALFORMED, False
        elif lower == b"content-type" and value[:20].strip().lower().startswith(b"multipart/"):
            return Refused.MULTIPART, False
        elif lower == b"expect":
            expects = value.lower() == b"100-continue"
    if codings > 1 or (codings and request.version == "1.0"):
        return Refused.MALFORMED, False
    if not is_host or (hosts != 1 and (hosts or request.version != "1.0")):
        return Refused.HOST_REQUIRED, False
    target = request.path
    if not target.startswith("/"):
        found = path_of(target)
        if found is None:
            return Refused.MALFORMED, False
        target, host = found
        if host:  # the Host header does not count then (RFC 9112, section 3.2.2)
            others = [field for field in request.headers if field[0].lower() != b"host"]
            request.headers = [(b"Host", host), *others]
    target = target.partition("#")[0]
    request.path, _, request.query = target.partition("?")
    request.length = length
    waits = expects and request.version == "1.1" and (length > 0 or codings > 0)
    return Refused.BODY_TOO_LARGE if length > most else None, waits


def body_head(request: Request) -> bytes:
    """A head that announces the request's body and nothing else; empty where there is no body."""
    for name, value in request.headers:
        if name.lower() in (b"content-length", b"transfer-encoding"):
            return b"POST / HTTP/1.1\r\n%b: %b\r\n\r\n" % (name, value)
    return b""
