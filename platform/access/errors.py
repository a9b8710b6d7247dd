"""Refusals of access: of a caller's key, or of an administrator's action."""

from datetime import datetime
from typing import Any, ClassVar

from jsonrpc.errors import RpcError
from staff import errors


class KeyRefused(RpcError):
    """The key that came cannot be used.

    `key_id` is set where the key is, or was, one of ours.
    """

    code = -32003
    status: ClassVar[int] = 401
    reason = "key_refused"
    abstract: ClassVar[bool] = True

    def __init__(self, message: str = "", *, key_id: int | None = None, **data: Any) -> None:
        super().__init__(message, data=data)
        self.key_id = key_id


class KeyMalformed(KeyRefused):
    """The text is not an API key of this service: it has a typo, or belongs to another service."""

    reason = "key_malformed"
    text = "Malformed API key: its form or its checksum is wrong"


class KeyUnknown(KeyRefused):
    """No key with this text was ever issued, or it was deleted."""

    reason = "key_unknown"
    text = "Unknown API key"


class KeyRevoked(KeyRefused):
    """The key was permanently revoked."""

    reason = "key_revoked"

    def __init__(self, key_id: int | None) -> None:
        super().__init__("This API key was revoked", key_id=key_id)


class KeyExpired(KeyRefused):
    """The key has expired. After a rotation, use the new key."""

    reason = "key_expired"

    def __init__(self, key_id: int | None, expired_at: datetime) -> None:
        super().__init__(
            "This API key has expired", key_id=key_id, expiredAt=int(expired_at.timestamp())
        )


class ActionRefused(errors.ActionRefused):
    """An invalid action of an administrator; the text says why."""


class KeyIsRevoked(ActionRefused):
    """A revoked key cannot come back: issue another one."""


class UnknownScope(ActionRefused):
    """A scope that is none of access.callers.SCOPES."""


class BadNetwork(ActionRefused):
    """A CIDR list's item that is no network."""


class BadOrigin(ActionRefused):
    """A list of origins with an item that is not one, or with too many."""


class BadMethod(ActionRefused):
    """A list of methods with one that the service does not serve, or with too many."""
