"""A conversation by WebSocket with the library `websockets`, as any client has it."""

import json
from collections.abc import Callable
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.patience import PATIENCE_SECONDS


class Socket:
    """Calls and their answers, and the notifications that come in between."""

    def __init__(self, url: str, key: str | None = None, **options: Any) -> None:
        headers = {} if key is None else {"Authorization": key}
        # Behind more messages than its queue may have, the library does not read the server's
        # goodbye and waits for it in vain.
        options.setdefault("max_queue", None)
        for each in ("open_timeout", "ping_timeout"):
            options.setdefault(each, PATIENCE_SECONDS)
        self._connecting = connect(
            url, additional_headers=headers, compression=None, max_size=None, **options
        )
        self.socket: ClientConnection = self._connecting.__enter__()
        self.kept: list[dict[str, Any]] = []
        self._calls = 0

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def call(self, method: str, *params: Any) -> Any:
        answer = self.answer(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, *params: Any) -> dict[str, Any]:
        answer = self.answer(method, *params)
        assert "result" not in answer, answer
        found: dict[str, Any] = answer["error"]
        return found

    def answer(self, method: str, *params: Any) -> dict[str, Any]:
        self._calls += 1
        number = self._calls
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)})
        while True:
            message = self.receive()
            if isinstance(message, dict) and message.get("id") == number:
                return message
            self.kept.append(message)

    def send(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def receive(self) -> Any:
        return json.loads(self.socket.recv(timeout=PATIENCE_SECONDS))

    def notice(self, subscription: int) -> dict[str, Any]:
        """The next message for the subscription; those of others are kept."""
        return self.find(lambda message: message["params"].get("subscription") == subscription)

    def result(self, subscription: int) -> Any:
        """The result in it."""
        return self.notice(subscription)["params"]["result"]

    def find(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for place, message in enumerate(self.kept):
            if wanted(message):
                return self.kept.pop(place)
        while True:
            message: dict[str, Any] = self.receive()
            if wanted(message):
                return message
            self.kept.append(message)
