"""The response to one request of HTTP/1.1. It moves no bytes: a client does."""

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


class Response:
    """`feed` it what comes, `end` it with the connection, `take` the body, which has `largest`
    bytes at most, as it comes and decompressed. A `failure` is final.
    """

    __slots__ = (
        *("failure", "has_head", "headers", "held", "is_whole", "keeps", "status"),
        *("_announcements", "_chunks", "_content", "_inflated", "_is_framed", "_largest"),
        *("_lines", "_parser", "_pieces", "_received", "_start", "_unzip"),
    )

    def __init__(self, *, largest: int) -> None:
        self.status = 0
        # By names in small letters; of the response itself, not what announces or follows it.
        self.headers: dict[bytes, bytes] = {}
        self.has_head = False
        self.is_whole = False
        # The connection is good for another request.
        self.keeps = False
        self.failure: Exception | None = None
        # Bytes of the body that came and were not taken.
        self.held = 0
        self._largest = largest
        self._pieces: list[bytes] = []
        self._start = b""
        self._received = self._content = self._inflated = 0
        self._lines = self._announcements = self._chunks = 0
        self._is_framed = False
        self._unzip: zlib._Decompress | None = None
        # It refers to this object: a response that is not read on has to be ended.
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    @property
    def began(self) -> bool:
        """Whether anything came."""
        return self._received > 0

    @property
    def is_zipped(self) -> bool:
        return self._unzip is not None

    @property
    def retry_after(self) -> float | None:
        """Seconds, where the server named them."""
        value = self.headers.get(b"retry-after", b"")
        return float(value) if value.isdigit() and len(value) < 7 else None

    def feed(self, data: bytes) -> None:
        """What came next."""
        parser = self._parser
        if parser is None:
            self.keeps = False
            return
        if not self.has_head and len(data) > _LARGEST_HEAD:
            self.feed(data[:_LARGEST_HEAD])
            self.feed(data[_LARGEST_HEAD:])
            return
        self._received += len(data)
        try:
            if len(self._start) < len(_START):
                self._check_start(data)
            parser.feed_data(data)
            if not self.has_head and self._received >= _LARGEST_HEAD:
                raise BadAnswer("the answer's head does not end")
            if not self.is_whole and self._received - 2 * self._content > 2 * _LARGEST_HEAD:
                raise BadAnswer("the answer has more framing than content")
        except BadAnswer as error:
            self._break_off(error)
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, BadAnswer):
                raise
            self._break_off(error.__context__)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break_off(BadAnswer("the answer is not HTTP/1.1"))
        if self.is_whole or self.failure is not None:
            self._parser = None

    def end(self, failure: OSError | None = None) -> None:
        """Nothing more comes: the connection ended by itself, or by a failure."""
        if self._parser is None:
            return
        self._parser = None
        if failure is None and self.has_head and not self._is_framed:
            self.is_whole, self.keeps = True, False
            return
        where = "within the answer" if self.has_head else "before an answer"
        self.failure = failure or BadAnswer(f"the connection ended {where}")

    def take(self) -> bytes:
        """The next bytes of the body, decompressed; b"" while there are none, and at its end.
        Raises the failure behind what came before it.
        """
        unzip = self._unzip
        if unzip is None:
            found = self._take_pieces()
        else:
            found = b""
            while not found and (piece := unzip.unconsumed_tail or self._take_pieces()):
                found = self._inflate(unzip, piece)
            if not found and self.is_whole and not unzip.eof:
                raise BadAnswer("the compressed answer does not end")
        if not found and self.failure is not None:
            raise self.failure
        return found

    def body(self) -> bytes:
        """The whole body. Raises the failure."""
        if self.failure is not None:
            raise self.failure
        if self._unzip is None:
            return self._take_pieces()
        return b"".join(iter(self.take, b""))

    def _take_pieces(self) -> bytes:
        pieces = self._pieces
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.held = 0
        return found

    def _inflate(self, unzip: "zlib._Decompress", piece: bytes) -> bytes:
        try:
            found = unzip.decompress(piece, _INFLATED_AT_ONCE)
        except zlib.error:
            raise BadAnswer("the answer is not gzip, as it says") from None
        self._inflated += len(found)
        if self._inflated > self._largest:
            raise AnswerTooLarge(f"the answer has more than {self._largest} bytes decompressed")
        if unzip.unused_data:
            raise BadAnswer("bytes follow the compressed answer")
        return found

    def _break_off(self, failure: BadAnswer) -> None:
        self.keeps = False
        if not self.is_whole:
            self.failure = failure

    def _check_start(self, data: bytes) -> None:
        self._start += data[: len(_START) - len(self._start)]
        if not _START.startswith(self._start):
            raise BadAnswer("the answer is not HTTP/1.1")

    def on_message_begin(self) -> None:
        if self.is_whole:
            raise BadAnswer("more came than was asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += 1
        if self._lines > _MOST_HEADERS:
            raise BadAnswer("the answer's head has too many lines")
        if self.has_head:  # behind the chunks
            return
        name = name.lower()
        headers = self.headers
        headers[name] = headers[name] + b", " + value if name in headers else value

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        status = parser.get_status_code()
        if status < 200:
            self._announce(status)
            return
        headers = self.headers
        self.status, self.has_head, self.keeps = status, True, parser.should_keep_alive()
        length = headers.get(b"content-length")
        coding = headers.get(b"transfer-encoding")
        self._is_framed = length is not None or coding is not None
        if length is not None and int(length) > self._largest:
            raise AnswerTooLarge(f"the answer has more than {self._largest} bytes")
        if coding is not None and coding.strip().lower() != b"chunked":
            raise BadAnswer("the answer has an encoding that was not asked for")
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding in (b"gzip", b"x-gzip"):
            self._unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif encoding != b"identity":
            raise BadAnswer("the answer has an encoding that was not asked for")

    def on_chunk_header(self) -> None:
        self._chunks += 1
        if self._chunks > _SMALL_CHUNKS + self._content // _CHUNK_SIZE:
            raise BadAnswer("the answer has too many chunks")

    def on_body(self, piece: bytes) -> None:
        size = len(piece)
        self._content += size
        if self._content > self._largest:
            raise AnswerTooLarge(f"the answer has more than {self._largest} bytes")
        self._pieces.append(piece)
        self.held += size

    def on_message_complete(self) -> None:
        self.is_whole = self.has_head

    def _announce(self, status: int) -> None:
        """Others than 101 only announce the one that follows."""
        if status < 100 or status == 101:
            raise BadAnswer("the answer is not HTTP/1.1")
        self._announcements += 1
        if self._announcements > _MOST_ANNOUNCEMENTS:
            raise BadAnswer("the answer is announced and does not come")
        self.headers = {}
