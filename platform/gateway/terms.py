"""Terms: what an endpoint asks of a host, a caller and its quota, as data in the area's urls."""

import enum
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from gateway.hosts import EVERY


class Face(enum.Enum):
    """How a refusal looks: a JSON-RPC error object, `{"error": word, …}`, or one line of text where
    the HTTP status says the rest (401, 403, 429, 500) and a JSON-RPC error object elsewhere.
    """

    JSON_RPC = "json-rpc"
    WORD = "word"
    PLAIN_TEXT = "plain-text"


@dataclass(frozen=True, slots=True)
class Terms:
    """`scope` is the key's right that the endpoint asks for (empty: none), `hosts` the tier hosts
    that serve it (gateway.hosts has the sets), `quota` the bucket that a call takes from beside
    `requests`. `scopes` and `quotas` name the methods that ask for another right, and that take
    from another bucket: {method: scope}, {method: quota}. With `large_scope` a key that has this
    right too may send bodies above MAX_BODY to the methods that take them.
    """

    scope: str
    hosts: Set[str] = EVERY
    key_required: bool = False
    quota: str = "requests"
    face: Face = Face.JSON_RPC
    scopes: Mapping[str, str] = field(default_factory=dict)
    quotas: Mapping[str, str] = field(default_factory=dict)
    large_scope: str = ""
