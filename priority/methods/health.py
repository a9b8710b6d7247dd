"""getHealth."""

from django.conf import settings

from gateway.endpoint import Call
from priority.methods.table import landing_methods, methods, upstream_node
from priority.services.health import health
from priority.services.waiting import require_landing


@methods.add("getHealth")
def get_health(call: Call) -> str:
    return health(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)


@landing_methods.add("getHealth")
def get_landing_health(call: Call) -> str:
    """Likewise, and what was accepted does not lie about."""
    require_landing()
    return health(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)
