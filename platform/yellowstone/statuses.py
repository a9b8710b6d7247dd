"""How refusals and endings of the service are called in gRPC."""

from gateway.refusals import status_of
from jsonrpc.errors import RpcError
from upstream.grpc.status import (
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    GrpcStatus,
)

_OF_HTTP = {
    400: INVALID_ARGUMENT,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    404: NOT_FOUND,
    429: RESOURCE_EXHAUSTED,
    500: INTERNAL,
    503: UNAVAILABLE,
}
# Why a stream is ended → its status; of others the key is not good any more.
_ENDINGS = {
    "too_slow": (
        RESOURCE_EXHAUSTED,
        "more updates wait for this stream than are kept: read faster, or ask for less",
    ),
    "notifications_above_limit": (
        RESOURCE_EXHAUSTED,
        "more updates a second than the key's tier allows",
    ),
    "monthly_bytes_reached": (RESOURCE_EXHAUSTED, "the key's bytes of this month are spent"),
    "service_stops": (UNAVAILABLE, "the service stops: connect again"),
    "sockets_unavailable": (UNAVAILABLE, "the key could not be checked: connect again"),
    "stream_silent": (UNAVAILABLE, "nothing of the chain arrives: connect again"),
    "chain_not_followed": (UNAVAILABLE, "nothing of the chain arrives"),
    "too_many_addresses": (
        RESOURCE_EXHAUSTED,
        "at most 10,000 addresses in a request, where a filter counts as three: use cuckoo filters",
    ),
    "too_many_cuckoo_filters": (
        RESOURCE_EXHAUSTED,
        "the cuckoo filters of the key's streams, or of all, are too large together",
    ),
    "interrupted": (
        UNAVAILABLE,
        "updates may be missing here: subscribe again, with from_slot to miss none",
    ),
    "key_suspended": (PERMISSION_DENIED, "the key is suspended"),
}


def refused(error: RpcError) -> GrpcStatus:
    """The status of a refusal; its text begins with the reason's word."""
    code = _OF_HTTP.get(status_of(error), INTERNAL)
    return GrpcStatus(code, f"{error.reason}: {error.message}")


def ended(why: str) -> GrpcStatus:
    """The status of a stream that the service ends."""
    code, text = _ENDINGS.get(why, (UNAUTHENTICATED, "the key is not valid any more"))
    return GrpcStatus(code, f"{why}: {text}")


def not_served(path: str) -> GrpcStatus:
    """The status of a call that the service does not have."""
    return GrpcStatus(UNIMPLEMENTED, f"{path[:100]} is not served")
