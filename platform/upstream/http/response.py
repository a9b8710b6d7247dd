"""Responses of HTTP/1.1. Nothing here moves bytes: a client does."""

import zlib

import httptools

from upstream.http.errors import AnswerTooLarge, BadAnswer

# The parser takes RTSP's and ICE's, HTTP/0.9 and HTTP/2.0, too.
_START = b"HTTP/1."
_LARGEST_HEAD = 65_536
_MOST_HEADERS = 100
_MOST_ANNOUNCEMENTS = 8
# So many chunks may be small; with more, they have 64 bytes on average.
_SMALL_CHUNKS = 4_096
_CHUNK_SIZE = 64
_INFLATED_AT_ONCE = 262_144
_ENCODINGS = (b"identity", b"gzip", b"x-gzip")


class Response:
    """The response to one request: what a Reader has read of it. Its body has `largest` bytes at
    most, as it comes and decompressed. It is over when it is whole, or has a `failure`.
    """

    __slots__ = (
        "failure",
        "has_head",
        "headers",
        "held",
        "inflated",
        "is_whole",
        "keeps",
        "largest",
        "pieces",
        "status",
        "unzip",
    )

    def __init__(self, *, largest: int) -> None:
        self.status = 0
        # By names in small letters; of the response itself, not what announces or follows it.
        self.headers: dict[bytes, bytes] = {}
        # `keeps`: the connection is good for another request.
        self.has_head = self.is_whole = self.keeps = False
        self.failure: Exception | None = None
        self.largest = largest
        # Bytes of the body that came and were not taken; `held` is their number.
        self.pieces: list[bytes] = []
        self.held = self.inflated = 0
        self.unzip: zlib._Decompress | None = None

    @property
    def is_over(self) -> bool:
        return self.is_whole or self.failure is not None

    @property
    def retry_after(self) -> float | None:
        """Seconds, where the server named them."""
        value = self.headers.get(b"retry-after", b"")
        return float(value) if value.isdigit() and len(value) < 7 else None

    def fail(self, failure: Exception) -> None:
        """The first word counts, also of a response that is whole."""
        if not self.is_over:
            self.failure = failure

    def take(self) -> bytes:
        """The next bytes of the body, decompressed; b"" while there are none, and at its end.
        Raises the failure behind what came before it.
        """
        if self.unzip is None:
            found = self._take_pieces()
        else:
            found = b""
            while not found and (piece := self.unzip.unconsumed_tail or self._take_pieces()):
                found = self._inflate(self.unzip, piece)
            if not found and self.is_whole and not self.unzip.eof:
                raise BadAnswer("the compressed answer does not end")
        if not found and self.failure is not None:
            raise self.failure
        return found

    def body(self) -> bytes:
        """The whole body. Raises the failure."""
        if self.failure is not None:
            raise self.failure
        if self.unzip is None:
            return self._take_pieces()
        return b"".join(iter(self.take, b""))

    def _take_pieces(self) -> bytes:
        pieces = self.pieces
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.held = 0
        return found

    def _inflate(self, unzip: "zlib._Decompress", piece: bytes) -> bytes:
        try:
            found = unzip.decompress(piece, _INFLATED_AT_ONCE)
        except zlib.error:
            raise BadAnswer("the answer is not gzip, as it says") from None
        self.inflated += len(found)
        if self.inflated > self.largest:
            raise AnswerTooLarge(f"the answer has more than {self.largest} bytes decompressed")
        if unzip.unused_data:
            raise BadAnswer("bytes follow the compressed answer")
        return found


class Reader:
    """Reads the responses of one connection, one after the other: `begin` each, `feed` what comes,
    `end` with the connection. After a failure, or a response that does not keep the connection,
    nothing more is read.
    """

    __slots__ = (
        "_announcements",
        "_chunks",
        "_content",
        "_parser",
        "_received",
        "_repeated",
        "_response",
        "_start",
    )

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.begin(Response(largest=0))

    def begin(self, response: Response) -> None:
        """The response is the next one that comes."""
        self._response = response
        self._start = b""
        self._received = self._content = self._repeated = self._announcements = self._chunks = 0

    @property
    def began(self) -> bool:
        """Whether anything of the response came."""
        return self._received > 0

    def feed(self, data: bytes) -> None:
        """What came next."""
        response, size = self._response, len(data)
        if response.is_whole or response.failure is not None:
            response.keeps = False
            return
        room = _LARGEST_HEAD - self._received
        if size > room and not response.has_head:
            self.feed(data[:room])
            self.feed(data[room:])
            return
        try:
            came = self._received
            if came < len(_START) and (came or not data.startswith(_START)):
                self._check_start(data)
            self._received = came + size
            self._parser.feed_data(data)
            if not response.is_whole:
                self._check_size(response)
        except BadAnswer as error:
            self._break_off(error)
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, BadAnswer):
                raise
            self._break_off(error.__context__)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break_off(BadAnswer("the answer is not HTTP/1.1"))

    def end(self, failure: OSError | None = None) -> None:
        """Nothing more comes: the connection ended by itself, or by a failure."""
        response = self._response
        if failure is not None:
            response.fail(failure)
        elif not response.has_head:
            response.fail(BadAnswer("the connection ended before an answer"))
        elif response.headers.keys() & {b"content-length", b"transfer-encoding"}:
            response.fail(BadAnswer("the connection ended within the answer"))
        elif response.failure is None:
            response.is_whole, response.keeps = True, False

    def _break_off(self, failure: BadAnswer) -> None:
        self._response.keeps = False
        self._response.fail(failure)

    def _check_start(self, data: bytes) -> None:
        start = self._start = self._start + data[: len(_START)]
        if not start.startswith(_START) and not _START.startswith(start):
            raise BadAnswer("the answer is not HTTP/1.1")

    def _check_size(self, response: Response) -> None:
        if not response.has_head and self._received >= _LARGEST_HEAD:
            raise BadAnswer("the answer's head does not end")
        if self._received - 2 * self._content > 2 * _LARGEST_HEAD:
            raise BadAnswer("the answer has more framing than content")

    def on_message_begin(self) -> None:
        if self._response.is_whole:
            raise BadAnswer("more came than was asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        response = self._response
        name = name.lower()
        headers = response.headers
        if name not in headers and not response.has_head:
            headers[name] = value
            return
        self._repeated += 1
        if self._repeated > _MOST_HEADERS:
            raise BadAnswer("the answer's head has too many lines")
        if not response.has_head:  # else it stands behind the chunks
            headers[name] += b", " + value

    def on_headers_complete(self) -> None:
        response = self._response
        status = self._parser.get_status_code()
        if status < 200:
            self._announce(status)
            return
        headers = response.headers
        if len(headers) + self._repeated > _MOST_HEADERS:
            raise BadAnswer("the answer's head has too many lines")
        response.status = status
        response.has_head = True
        response.keeps = self._parser.should_keep_alive()
        length = headers.get(b"content-length")
        if length is not None and int(length) > response.largest:
            raise AnswerTooLarge(f"the answer has more than {response.largest} bytes")
        if b"transfer-encoding" in headers or b"content-encoding" in headers:
            self._read_encodings(response)

    def on_chunk_header(self) -> None:
        self._chunks += 1
        if self._chunks > _SMALL_CHUNKS + self._content // _CHUNK_SIZE:
            raise BadAnswer("the answer has too many chunks")

    def on_body(self, piece: bytes) -> None:
        response, size = self._response, len(piece)
        self._content += size
        if self._content > response.largest:
            raise AnswerTooLarge(f"the answer has more than {response.largest} bytes")
        response.pieces.append(piece)
        response.held += size

    def on_message_complete(self) -> None:
        response = self._response
        response.is_whole = response.has_head

    def _read_encodings(self, response: Response) -> None:
        coding = response.headers.get(b"transfer-encoding", b"chunked").strip().lower()
        encoding = response.headers.get(b"content-encoding", b"identity").strip().lower()
        if coding != b"chunked" or encoding not in _ENCODINGS:
            raise BadAnswer("the answer has an encoding that was not asked for")
        if encoding != b"identity":
            response.unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def _announce(self, status: int) -> None:
        """They only announce the one that follows; the parser refuses 101."""
        if status < 100:
            raise BadAnswer("the answer is not HTTP/1.1")
        self._announcements += 1
        if self._announcements > _MOST_ANNOUNCEMENTS:
            raise BadAnswer("the answer is announced and does not come")
        self._response.headers.clear()
