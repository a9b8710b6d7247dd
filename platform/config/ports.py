"""The ports that a run listens on: free, each for one, or named before anything starts."""

import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address

HOSTS = "an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"


class PortUnusable(Exception):
    """A port cannot be listened on; the text names it, the setting and what to do."""


@dataclass(frozen=True, slots=True)
class Port:
    """Where something of ours listens: `settings` are the names of its host and its port; `offset`
    is added to the port that the setting names.
    """

    host: str
    port: int
    settings: tuple[str, str]
    offset: int = 0
    udp: bool = False

    @property
    def name(self) -> str:
        setting = self.settings[1]
        return f"{setting} + {self.offset}" if self.offset else setting


def require_free(ports: Sequence[Port]) -> None:
    """Raises PortUnusable for the first that another process has, or another of them."""
    with ExitStack() as opened:
        for at, port in enumerate(ports):
            for other in ports[:at]:
                if (port.port, port.udp) == (other.port, other.udp):
                    raise PortUnusable(
                        f"{other.name} and {port.name} are both port {port.port}:"
                        f" choose another, {port.settings[1]}={_another(port)} make run"
                    )
            _listen(port, opened)


def _listen(port: Port, opened: ExitStack) -> None:
    # An address, not a name: the servers do not resolve names.
    try:
        ip_address(port.host)
    except ValueError:
        raise PortUnusable(f"{port.settings[0]}={port.host!r}: expected {HOSTS}") from None
    family = socket.AF_INET6 if ":" in port.host else socket.AF_INET
    kind = socket.SOCK_DGRAM if port.udp else socket.SOCK_STREAM
    probe = opened.enter_context(socket.socket(family, kind))
    try:
        if port.udp:
            probe.bind((port.host, port.port))
            return
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((port.host, port.port))
        # A server that shares its port lets others bind it, but not listen on it.
        probe.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise PortUnusable(f"{port.settings[0]}={port.host!r}: expected {HOSTS}") from None
        taken = error.errno == errno.EADDRINUSE
        raise PortUnusable(
            f"cannot listen on {port.host} port {port.port} ({port.name}): {error.strerror}"
            + (
                ". Stop what uses it, or choose another:"
                f" {port.settings[1]}={_another(port)} make run"
                if taken
                else ""
            )
        ) from None


def _another(port: Port) -> int:
    """A number to try: the next one, past what stands beside the port."""
    # Two further: beside a JSON-RPC port there is its WebSocket's, taken by the same localnet.
    base = port.port - port.offset
    return base + 2 + port.offset if base + 2 + port.offset < 65_535 else 8_000
