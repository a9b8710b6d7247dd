"""Calls, one at a time: sent, repeated where that helps, and read."""

import time
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from tidemark._io_async import HttpClient, exchange, sleep
from tidemark.failures import Unreachable
from tidemark.version import VERSION
from tidemark.wire import (
    Request,
    Response,
    answer_of,
    pause_before,
    read_as,
    rpc_request,
    rpc_result,
    text_of,
)


class AsyncCaller:
    """One key's connections to the service at `url`.

    timeout_seconds: for each request
    retry_seconds: for how long a call is repeated after 429, 502, 503, 504 and broken connections;
      0 is never. A service that has never responded is not tried again
    """

    def __init__(
        self, url: str, key: str, *, timeout_seconds: float = 30.0, retry_seconds: float = 30.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"not the URL of a service: {url}")
        self.url = url.rstrip("/")
        self.key = key
        self.timeout_seconds = timeout_seconds
        self._retry_seconds = retry_seconds
        self._has_responded = False
        self._http = HttpClient(
            timeout=timeout_seconds, headers={"User-Agent": f"tidemark-python/{VERSION}"}
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def rpc(self, path: str, method: str, params: list[Any], result: Any) -> Any:
        """Calls a JSON-RPC method → its result, of this type."""
        response = await self.send(rpc_request(path, method, params))
        return read_as(result, rpc_result(response))

    async def get(self, path: str, result: Any, query: Mapping[str, str] | None = None) -> Any:
        """GETs a path → its response, of this type."""
        response = await self.send(Request("GET", path, query or {}))
        return read_as(result, answer_of(response), version=response.headers.get("ETag", ""))

    async def text(self, path: str, query: Mapping[str, str]) -> str:
        """GETs a path → the text of its response."""
        return text_of(await self.send(Request("GET", path, query)))

    async def write(
        self,
        verb: str,
        path: str,
        result: Any,
        body: Any = None,
        *,
        version: str | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """A write of the management API → its response, of this type. A POST takes effect once,
        however often it is sent.
        """
        headers = {"If-Match": version} if version is not None else {}
        if verb == "POST":
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        request = Request(verb, path, body=body, headers=headers, repeatable=verb == "POST")
        response = await self.send(request)
        return read_as(result, answer_of(response), version=response.headers.get("ETag", ""))

    async def pages(self, path: str, item: Any, query: Mapping[str, str]) -> AsyncIterator[Any]:
        """Every entry of a list of the management API, page by page."""
        following = dict(query)
        while True:
            page = answer_of(await self.send(Request("GET", path, following)))
            for each in page["results"]:
                yield read_as(item, each)
            if not page.get("next"):
                return
            following = dict(httpx2.URL(page["next"]).params)

    async def send(self, request: Request) -> Response:
        """Sends a request, again after a pause where that may help → the last response. Raises
        Unreachable.
        """
        began = time.monotonic()
        attempt = 0
        while True:
            response, failure = None, None
            try:
                response = await exchange(self._http, self.url, request, self.key)
            except httpx2.TransportError as error:
                is_sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                what = "no response from" if is_sent else "no connection to"
                failure = Unreachable(f"{what} {self.url}: {error or type(error).__name__}")
                failure.__cause__ = error
                # Without a connection nothing was sent.
                may_repeat = self._has_responded and (request.repeatable or not is_sent)
                pause = pause_before(attempt, None) if may_repeat else None
            else:
                self._has_responded = True
                pause = pause_before(attempt, response)
            if pause is None or time.monotonic() - began + pause > self._retry_seconds:
                if response is None:
                    raise failure or Unreachable()
                return response
            await sleep(pause)
            attempt += 1


class AsyncConnected:
    """A client of a service: a context manager that ends its connections."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def close(self) -> None:
        await self._caller.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
