"""Refusals of WebSockets and of subscriptions."""

from datetime import datetime

from gateway.refusals import Refusal
from jsonrpc.errors import RpcError


class HandshakeMalformed(Refusal):
    """The WebSocket request does not have everything that the protocol requires (RFC 6455, 4.2.1):
    HTTP/1.1, `Connection: Upgrade`, and a Sec-WebSocket-Key of 16 bytes in base64.
    """

    status = 400
    reason = "handshake_malformed"

    def __init__(self, required: str) -> None:
        super().__init__("Not a WebSocket handshake", data={"required": required})


class HandshakeInvalid(Refusal):
    """The WebSocket request has a version other than 13."""

    status = 426
    reason = "handshake_invalid"

    def __init__(self) -> None:
        super().__init__("Not a WebSocket handshake of version 13", data={"required": 13})

    def headers(self) -> dict[str, str]:
        return {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}


class TooManySockets(Refusal):
    """The key, or the address without a key, has as many open WebSockets as its tier allows."""

    status = 429
    code = -32005
    reason = "too_many_sockets"
    retry_seconds = 5

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Too many WebSockets: the tier allows {maximum}", data={"maximum": maximum}
        )


class MonthlyBytesReached(Refusal):
    """The key has reached its limit of notification bytes of this calendar month (UTC)."""

    status = 429
    code = -32005
    reason = "monthly_bytes_reached"

    def __init__(self, limit: int, used: int, resets_at: datetime) -> None:
        super().__init__(
            f"All {limit} bytes of notifications of this month are used up",
            data={"limit": limit, "used": used, "resetsAt": int(resets_at.timestamp())},
        )


class SocketsUnavailable(Refusal):
    """WebSockets cannot be opened now: Redis or the database is down."""

    status = 503
    code = -32005
    reason = "sockets_unavailable"
    text = "WebSockets are unavailable at the moment. Try again"
    retry_seconds = 2


class SubscriptionLimitReached(RpcError):
    """The connection has as many subscriptions as the tier allows."""

    code = -32603
    reason = "subscription_limit_reached"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            "Internal Error: Subscription refused. Node subscription limit reached",
            data={"maximum": maximum},
        )


class SubscriptionUnknown(RpcError):
    """The connection has no subscription with this number."""

    code = -32602
    reason = "subscription_unknown"
    text = "Invalid subscription id."


class ChainNotFollowed(RpcError):
    """No data of the chain arrives: the service follows no stream, or its follower is down."""

    code = -32005
    reason = "chain_not_followed"
    text = "Node is unhealthy: the chain is not followed at the moment"


class MemoryUnknown(RpcError):
    """No stored transaction has the `fromSignature`."""

    code = -32602
    reason = "from_signature_unknown"
    text = "Invalid params: the transaction of `fromSignature` is not stored"
