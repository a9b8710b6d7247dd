"""grpc.health.v1.Health: Check and Watch, for load balancers. Without a key, and not counted.

https://github.com/grpc/grpc/blob/master/doc/health-checking.md
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gateway.addresses import client_address
from grpcserver.call import Call
from upstream.geyser import SERVICE
from upstream.grpc.status import INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, GrpcStatus
from webserver.address_groups import holder_of

PATH = "/grpc.health.v1.Health/"
# Seconds between two looks at the status.
_EVERY_SECONDS = 1.0
# Watches that are open at once: they need no key.
_MOST_WATCHES = 1_000
_MOST_WATCHES_OF_ADDRESS = 10

# HealthCheckResponse: the field `status` (1) with an enum's number.
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"
# HealthCheckRequest: the field `service` (1), a string.
_SERVICE_TAG = 0x0A
_LONGEST_NAME = 127


class Health:
    """Used on the loop. `is_serving` says whether calls are answered."""

    def __init__(self, is_serving: Callable[[], bool]) -> None:
        self._is_serving = is_serving
        self._watches: Counter[str] = Counter()

    def check(self, request: bytes) -> bytes:
        """The status of the service that the request names. Raises GrpcStatus."""
        status = self._status(_service_of(request))
        if status == _SERVICE_UNKNOWN:
            raise GrpcStatus(NOT_FOUND, "unknown service")
        return status

    async def watch(self, call: Call, request: bytes) -> None:
        """Sends the status now and whenever it changes, until the client goes."""
        service = _service_of(request)
        with self._place(call):
            call.begin()
            sent = b""
            while not call.is_ended:
                status = self._status(service)
                if status != sent:
                    call.send(status)
                    await call.drained()
                    sent = status
                with suppress(TimeoutError):
                    async with asyncio.timeout(_EVERY_SECONDS):
                        await call.ended()

    def _status(self, service: str) -> bytes:
        if service not in ("", SERVICE):
            return _SERVICE_UNKNOWN
        return _SERVING if self._is_serving() else _NOT_SERVING

    @contextmanager
    def _place(self, call: Call) -> Iterator[None]:
        meta = {
            "REMOTE_ADDR": call.peer,
            "HTTP_X_FORWARDED_FOR": call.headers.get("x-forwarded-for"),
        }
        holder = holder_of(client_address(meta))
        of_all, of_holder = self._watches.total(), self._watches[holder]
        if of_all >= _MOST_WATCHES or of_holder >= _MOST_WATCHES_OF_ADDRESS:
            raise GrpcStatus(RESOURCE_EXHAUSTED, "too_many_streams: too many open Watch calls")
        self._watches[holder] += 1
        try:
            yield
        finally:
            self._watches[holder] -= 1
            if not self._watches[holder]:
                del self._watches[holder]


def _service_of(request: bytes) -> str:
    """The name in the request; empty for the server as a whole."""
    if not request:
        return ""
    if request[0] != _SERVICE_TAG or len(request) < 2:
        raise GrpcStatus(INVALID_ARGUMENT, "not a HealthCheckRequest")
    if request[1] > _LONGEST_NAME:
        return "longer than any name here"
    if len(request) != request[1] + 2:
        raise GrpcStatus(INVALID_ARGUMENT, "not a HealthCheckRequest")
    return request[2:].decode("utf-8", "replace")
