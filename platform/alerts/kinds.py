"""The kinds of events that people can be told of."""

import enum
from dataclasses import dataclass


class Audience(enum.Enum):
    """Whom a kind of event concerns."""

    CUSTOMER = "customer"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: `name` is stable, `meaning` says when it comes."""

    name: str
    audience: Audience
    meaning: str


KINDS = {
    kind.name: kind
    for kind in (
        Kind("key.expiring", Audience.CUSTOMER, "a key expires within seven days, or one"),
        Kind("key.expired", Audience.CUSTOMER, "a key has expired"),
        Kind("key.rotated", Audience.CUSTOMER, "a key was rotated: both work until `expiresAt`"),
        Kind("key.suspended", Audience.CUSTOMER, "a key was suspended"),
        Kind("key.resumed", Audience.CUSTOMER, "a suspended key works again"),
        Kind("key.revoked", Audience.CUSTOMER, "a key was revoked for good"),
        Kind("quota.warning", Audience.CUSTOMER, "80 % of a key's monthly calls are used"),
        Kind("quota.reached", Audience.CUSTOMER, "all of a key's monthly calls are used"),
        Kind("webhook.disabled", Audience.CUSTOMER, "a webhook failed for too long and is off"),
        Kind("test", Audience.CUSTOMER, "somebody tries the webhook"),
        Kind("alarm.opened", Audience.STAFF, "something about the service needs somebody"),
        Kind("alarm.closed", Audience.STAFF, "what needed somebody is well again"),
    )
}
