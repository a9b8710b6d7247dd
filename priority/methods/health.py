"""getHealth."""

from django.conf import settings

from gateway.endpoint import Call
from priority.methods.table import landing_methods, methods, upstream_node
from priority.services.health import health


@methods.add("getHealth")
@landing_methods.add("getHealth")
def get_health(call: Call) -> str:
    return health(node=upstream_node(), seconds=settings.PROXY_TIMEOUT_SECONDS)
