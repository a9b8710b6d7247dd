"""Refusals of the management API."""

from typing import Any

from gateway.refusals import Refusal


class FieldsInvalid(Refusal):
    """Members of the body, parameters or headers that are not what they should be: `fields` has the
    problems of each.
    """

    code = -32602
    status = 400
    reason = "invalid_fields"

    def __init__(self, fields: Any) -> None:
        super().__init__("Some fields are not valid", data={"fields": fields})


class BodyMalformed(Refusal):
    """The body is not JSON."""

    status = 400
    reason = "body_malformed"

    def __init__(self, found: str) -> None:
        super().__init__("The body is not JSON", data={"found": found[:200]})


class NotFound(Refusal):
    """No such thing, or it is not the customer's whose token this is."""

    code = -32602
    status = 404
    reason = "not_found"
    text = "There is no such thing, or it is not yours"


class ActionImpossible(Refusal):
    """What is stored does not allow it; the message says why."""

    code = -32602
    status = 409
    reason = "action_refused"

    def __init__(self, message: str) -> None:
        super().__init__(message)


class VersionChanged(Refusal):
    """It was changed since it was read: `If-Match` names another version."""

    code = -32602
    status = 412
    reason = "version_changed"

    def __init__(self, required: str, found: str) -> None:
        super().__init__(
            "It was changed since you read it", data={"required": required, "found": found[:200]}
        )


class VersionRequired(Refusal):
    """A change needs the header `If-Match`, so that it does not undo another one."""

    code = -32602
    status = 428
    reason = "version_required"
    text = "A change needs the ETag of what it changes in the header If-Match"


class IdempotencyKeyReused(Refusal):
    """Another request had this `Idempotency-Key` in the last 24 hours."""

    code = -32602
    status = 422
    reason = "idempotency_key_reused"

    def __init__(self, found: str) -> None:
        super().__init__(
            "Another request had this Idempotency-Key: use a new one for each",
            data={"found": found},
        )
