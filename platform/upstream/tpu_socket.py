"""A leader's address, and a socket to it."""

import socket
from ipaddress import ip_address

from upstream import tpu_errors

Address = tuple[str, int]

_SEND_BUFFER = 1_048_576


def connected_socket(address: Address) -> socket.socket:
    """A socket of this connection alone, whose port stays: leaders allow no migration."""
    try:
        version = ip_address(address[0]).version
    except ValueError:
        raise tpu_errors.Unreachable(f"no IP address: {address[0]!r:.60}") from None
    made = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        made.connect(address)
    except (OSError, OverflowError) as error:
        made.close()
        raise tpu_errors.Unreachable(f"no way to the address: {error}") from None
    return made
