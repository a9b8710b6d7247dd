"""The client of the management API."""

from tidemark._async.caller import AsyncCaller, AsyncConnected
from tidemark._async.resources import AsyncResources


class AsyncManagement(AsyncConnected, AsyncResources):
    """The management API of the service at `url`, with a root key or a customer's token.

    timeout_seconds: for each request
    retry_seconds: for how long a call is repeated after 429, 502, 503, 504 and broken connections;
      0 is never. A service that has never responded is not tried again
    """

    def __init__(
        self, url: str, key: str, *, timeout_seconds: float = 30.0, retry_seconds: float = 30.0
    ) -> None:
        caller = AsyncCaller(
            url, f"Bearer {key}", timeout_seconds=timeout_seconds, retry_seconds=retry_seconds
        )
        AsyncConnected.__init__(self, caller)
        AsyncResources.__init__(self, caller)
