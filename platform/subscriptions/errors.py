"""Refusals of WebSockets and of subscriptions."""

from datetime import datetime

from gateway.refusals import Refusal
from jsonrpc.errors import RpcError


class HandshakeMalformed(Refusal):
    """The request for WebSocket is without a part that the protocol requires (RFC 6455, 4.2.1):
    HTTP/1.1, `Connection: Upgrade`, or a Sec-WebSocket-Key of 16 bytes in base64.
    """

    status = 400
    reason = "handshake_malformed"

    def __init__(self, required: str) -> None:
        super().__init__("Not a WebSocket handshake", data={"required": required})


class HandshakeInvalid(Refusal):
    """The request for WebSocket is of another version than 13."""

    status = 426
    reason = "handshake_invalid"

    def __init__(self) -> None:
        super().__init__("Not a WebSocket handshake of version 13", data={"required": 13})

    def headers(self) -> dict[str, str]:
        return {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}


class TooManySockets(Refusal):
    """The key, or without one the address, has as many WebSockets open as its tier allows."""

    status = 429
    code = -32005
    reason = "too_many_sockets"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Too many WebSockets: the tier allows {maximum}", data={"maximum": maximum}
        )

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "5"}


class MonthlyBytesReached(Refusal):
    """The key has got as many bytes of notifications as it may in a calendar month (UTC)."""

    status = 429
    code = -32005
    reason = "monthly_bytes_reached"

    def __init__(self, limit: int, used: int, resets_at: datetime) -> None:
        super().__init__(
            f"The month's {limit} bytes of notifications are used",
            data={"limit": limit, "used": used, "resetsAt": int(resets_at.timestamp())},
        )


class SocketsUnavailable(Refusal):
    """WebSockets cannot be opened now: Redis or the database is away."""

    status = 503
    code = -32005
    reason = "sockets_unavailable"

    def __init__(self) -> None:
        super().__init__("WebSockets are unavailable for a moment")

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "2"}


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
    """The connection has no subscription of this number."""

    code = -32602
    reason = "subscription_unknown"

    def __init__(self) -> None:
        super().__init__("Invalid subscription id.")


class ChainNotFollowed(RpcError):
    """Nothing of the chain arrives: no stream is followed, or its follower is away."""

    code = -32005
    reason = "chain_not_followed"

    def __init__(self) -> None:
        super().__init__("Node is unhealthy: the chain is not followed at the moment")


class MemoryUnknown(RpcError):
    """The signature of `fromSignature` is of no stored transaction."""

    code = -32602
    reason = "from_signature_unknown"

    def __init__(self) -> None:
        super().__init__("Invalid params: the transaction of `fromSignature` is not stored")
