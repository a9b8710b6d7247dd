"""What an endpoint requires of hosts, keys and quotas, as data in an area's urls."""

import enum
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from gateway.hosts import EVERY


class ErrorFormat(enum.Enum):
    """The format of a refusal: a JSON-RPC error object; `{"error": reason, …}`; or one line of text
    with the statuses 401, 403, 429 and 500 and a JSON-RPC error object otherwise.
    """

    JSON_RPC = "json-rpc"
    WORD = "word"
    PLAIN_TEXT = "plain-text"


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """`scope` is the scope that a key needs (empty: none), `hosts` the tier hosts that serve the
    endpoint (gateway.hosts has the sets), `quota` the bucket that a call takes from besides
    `requests`. `scopes` and `quotas` hold exceptions: {method: scope}, {method: quota}. A key that
    has `large_scope` too may send bodies above MAX_BODY to the methods that take them.
    """

    scope: str
    hosts: Set[str] = EVERY
    key_required: bool = False
    quota: str = "requests"
    error_format: ErrorFormat = ErrorFormat.JSON_RPC
    scopes: Mapping[str, str] = field(default_factory=dict)
    quotas: Mapping[str, str] = field(default_factory=dict)
    large_scope: str = ""
