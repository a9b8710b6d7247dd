"""getHealth."""

from typing import Annotated, Literal

from django.conf import settings

from gateway.calls import Call
from jsonrpc.wire import As
from priority.acceptance.errors import LandingStalled
from priority.method_table import NODE_ERRORS, landing_methods, methods, upstream_node
from priority.proxy.errors import NodeBehind
from priority.proxy.services.health import health
from priority.queue.services.stalled_queue import require_landing

_Ok = Annotated[str, As(Literal["ok"])]
_ERRORS = (*NODE_ERRORS, NodeBehind)


@methods.add("getHealth", errors=_ERRORS, asks_node=True)
def get_health(call: Call) -> _Ok:
    """Whether the node that is followed keeps up with the chain.

    returns: `ok`; else an error with the number of slots it is behind
    """
    return health(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)


@landing_methods.add("getHealth", errors=(*_ERRORS, LandingStalled), asks_node=True)
def get_landing_health(call: Call) -> _Ok:
    """Whether the node that is followed keeps up with the chain, and what was accepted is being
    sent.

    returns: `ok`; else an error with the reason
    """
    require_landing()
    return health(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)
