"""Run in a network of its own by test_rebinding.py: a name server that gives another
address each time, machines at a public address and on the loopback, and webhooks to them.
"""

import json
import socket
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from alerts.posting import post

PUBLIC, PRIVATE = "203.0.114.9", "127.0.0.1"
# Name → the addresses of its answers, one after the other; the last one stays.
ANSWERS = {
    "steady.example": [[PUBLIC]],
    "rebound.example": [[PUBLIC], [PRIVATE]],
    "inside-first.example": [[PRIVATE], [PUBLIC]],
    "both.example": [[PUBLIC, PRIVATE]],
    "metadata.example": [["169.254.169.254"]],
    "zero.example": [["0.0.0.0"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "private.example": [["10.0.0.8"]],
    "mixed-kinds.example": [[PUBLIC, "::1"]],
    "xn--bcher-kva.example": [[PRIVATE]],
}
_A, _AAAA = 1, 28


class NameServer(socketserver.BaseRequestHandler):
    """Answers A and AAAA from ANSWERS, without a time to live. A look-up is one query of each."""

    asked: dict[str, int] = {}

    def handle(self) -> None:
        query, udp = self.request
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
            at += query[at] + 1
        name, kind = ".".join(labels), int.from_bytes(query[at + 1 : at + 3], "big")
        found: list[str] = []
        if name in ANSWERS and kind in (_A, _AAAA):
            turn = self.asked.get(f"{name} {kind}", 0)
            self.asked[f"{name} {kind}"] = turn + 1
            found = ANSWERS[name][min(turn, len(ANSWERS[name]) - 1)]
        family = socket.AF_INET6 if kind == _AAAA else socket.AF_INET
        records = [
            socket.inet_pton(family, each) for each in found if (":" in each) == (kind == _AAAA)
        ]
        code = 0 if name in ANSWERS else 3
        head = query[:2] + bytes([0x84, 0x80 | code, 0, 1, 0, len(records), 0, 0, 0, 0])
        answer = head + query[12 : at + 5]
        for record in records:
            answer += b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\x00\x01\x00\x00\x00\x00"
            answer += len(record).to_bytes(2, "big") + record
        udp.sendto(answer, self.client_address)


def machine(address: str, port: int, got: list[str], location: str = "") -> None:
    """A web server that notes by which name it was asked, and may redirect."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(str(self.headers["Host"]))
            self.send_response(307 if location else 204)
            if location:
                self.send_header("Location", location)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer((address, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main() -> None:
    names = socketserver.ThreadingUDPServer((PRIVATE, 53), NameServer)
    threading.Thread(target=names.serve_forever, daemon=True).start()
    outside: list[str] = []
    inside: list[str] = []
    machine(PUBLIC, 80, outside)
    machine(PUBLIC, 81, outside, location="http://127.0.0.1/")
    machine(PRIVATE, 80, inside)
    told = {}
    for url in sys.argv[1:]:
        before = (len(outside), len(inside))
        answers = [post(url, b"{}", {}, private_allowed=False, timeout=60) for _ in range(2)]
        told[url] = {
            "statuses": [each.status for each in answers],
            "problems": [each.problem for each in answers],
            "outside": len(outside) - before[0],
            "inside": len(inside) - before[1],
        }
    json.dump({"told": told, "asked": NameServer.asked}, sys.stdout)


if __name__ == "__main__":
    main()
