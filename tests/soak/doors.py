"""Every door of a service, tried again and again: how each answered, and how long it took."""

import http.client
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.clients.service import Service

# A call: path, method, parameters.
CALLS: tuple[tuple[str, str, list[Any]], ...] = (
    ("/historical", "getSlot", []),
    ("/historical", "getBlocks", [1, 20]),
    ("/historical", "getSignaturesForAddress", ["Vote111111111111111111111111111111111111111"]),
    ("/rewind", "getAccountInfo", ["SysvarC1ock11111111111111111111111111111111", {"slot": 5}]),
    ("/rewind", "getRewindCoverage", []),
    ("/priority", "getTransactionFates", [["1" * 64]]),
    ("/", "getSlot", []),
)
PAGES = ("/readyz", "/priority/tipinfo", "/priority/fetchtipaddress?ttl=3600", "/admin/login/", "/")


@dataclass
class Tried:
    """Answers by door, and the slowest one in seconds."""

    answers: dict[str, Counter[str]] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)

    def kinds(self) -> set[str]:
        return set().union(*self.answers.values())


class Doors:
    """A thread for each door. `since` begins anew."""

    def __init__(self, service: Service, *, timeout: float = 60.0) -> None:
        self._service, self._timeout = service, timeout
        self._lock = threading.Lock()
        self._tried = Tried()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._try, args=(path, method, params), daemon=True)
            for path, method, params in CALLS
        ] + [threading.Thread(target=self._try, args=(path, "", []), daemon=True) for path in PAGES]
        for thread in self._threads:
            thread.start()

    def begin(self) -> None:
        """Forgets what came so far."""
        with self._lock:
            self._tried = Tried()

    def tried(self) -> Tried:
        with self._lock:
            return self._tried

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _try(self, path: str, method: str, params: list[Any]) -> None:
        name = f"{method} {path}" if method else f"GET {path}"
        while not self._stopping.wait(0.2):
            began = time.monotonic()
            found = self._answer(path, method, params)
            took = time.monotonic() - began
            with self._lock:
                self._tried.answers.setdefault(name, Counter())[found] += 1
                self._tried.slowest[name] = max(self._tried.slowest.get(name, 0.0), took)

    def _answer(self, path: str, method: str, params: list[Any]) -> str:
        """`ok`, the reason of a refusal, or what else came."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Authorization": self._service.key, "Content-Type": "application/json"}
        to = http.client.HTTPConnection(
            self._service.host, self._service.port, timeout=self._timeout
        )
        try:
            if method:
                to.request("POST", path, json.dumps(body), headers)
            else:
                to.request("GET", path, headers=headers)
            response = to.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            to.close()
        if method:
            answer = json.loads(text)
            if "result" in answer:
                return "ok"
            data = answer["error"].get("data") or {}
            return str(data.get("reason", answer["error"]["code"]))
        if path == "/readyz":
            return str(json.loads(text)["status"])
        if response.status < 400:
            return "ok"
        if response.getheader("Content-Type", "").startswith("application/json"):
            return str(json.loads(text)["error"])
        return f"page {response.status}"
