"""The ports that a run listens on: free, each for one, or named before anything starts."""

import errno
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
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


@contextmanager
def hold_ports(ports: Sequence[Port]) -> Iterator[None]:
    """Keeps other runs off these ports: one that starts now and finds them free until our processes
    listen is refused, too. Raises PortUnusable, which names every port that another process has, or
    that two have.
    """
    for at, port in enumerate(ports):
        _require_address(port)
        for other in ports[:at]:
            if (port.port, port.udp) == (other.port, other.udp):
                raise PortUnusable(
                    f"{other.name} and {port.name} are both port {port.port}:"
                    f" choose another, {_others([port], ports)} make run"
                )
    with ExitStack() as held:
        taken = [port for port in ports if not _claim(port, held)]
        with ExitStack() as opened:
            taken += [port for port in ports if port not in taken and not _listen(port, opened)]
        if taken:
            raise PortUnusable(_advice([port for port in ports if port in taken], ports))
        yield


def _advice(taken: Sequence[Port], ports: Sequence[Port]) -> str:
    """Names the ports, and the one command that avoids all of them."""
    names = [f"{port.host} port {port.port} ({port.name})" for port in taken]
    them = "them" if len(taken) > 1 else "it"
    return (
        f"cannot listen on {', '.join(names)}: {os.strerror(errno.EADDRINUSE)}. Stop what uses"
        f" {them}, or choose another: {_others(taken, ports)} make run"
    )


def _others(unusable: Sequence[Port], ports: Sequence[Port]) -> str:
    """Values of these ports' settings with which all of them are free."""
    free: dict[str, int] = {}
    avoided = {port.port for port in ports}
    for setting in dict.fromkeys(port.settings[1] for port in unusable):
        beside = [port for port in ports if port.settings[1] == setting]
        free[setting] = _free_beside(beside, avoided)
        avoided |= {free[setting] + port.offset for port in beside}
    return " ".join(f"{setting}={number}" for setting, number in free.items())


def _require_address(port: Port) -> None:
    # An address, not a name: the servers do not resolve names.
    try:
        ip_address(port.host)
    except ValueError:
        raise PortUnusable(f"{port.settings[0]}={port.host!r}: expected {HOSTS}") from None


def _claim(port: Port, held: ExitStack) -> bool:
    """False if another run claimed it. A claim is a name on this machine, in the same network
    namespace as the port, which ends with its process.
    """
    if sys.platform != "linux":
        return True
    claim = held.enter_context(socket.socket(socket.AF_UNIX))
    try:
        claim.bind(f"\0tidemark-{port.host}-{port.port}{'-udp' * port.udp}")
    except OSError:
        return False
    return True


def _listen(port: Port, opened: ExitStack) -> bool:
    """False if another process has the port. Raises PortUnusable if it cannot be had at all."""
    family = socket.AF_INET6 if ":" in port.host else socket.AF_INET
    kind = socket.SOCK_DGRAM if port.udp else socket.SOCK_STREAM
    probe = opened.enter_context(socket.socket(family, kind))
    try:
        if not port.udp:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((port.host, port.port))
        if not port.udp:
            # A server that shares its port lets others bind it, but not listen on it.
            probe.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        if error.errno == errno.EADDRNOTAVAIL:
            raise PortUnusable(f"{port.settings[0]}={port.host!r}: expected {HOSTS}") from None
        raise PortUnusable(
            f"cannot listen on {port.host} port {port.port} ({port.name}): {error.strerror}"
        ) from None
    return True


def _free_beside(ports: Sequence[Port], avoided: set[int]) -> int:
    """A number for the ports' setting with which all of them are free: the next such one."""
    base: int = ports[0].port - ports[0].offset
    # Two further: beside a JSON-RPC port there is its WebSocket's, taken by the same process.
    number: int
    for number in [*range(base + 2, 65_534, 2), *range(8_000, base, 2)]:
        moved = [replace(port, port=number + port.offset) for port in ports]
        if all(port.port not in avoided for port in moved):
            with ExitStack() as opened:
                if all(_claim(port, opened) and _listen(port, opened) for port in moved):
                    return number
    return base
