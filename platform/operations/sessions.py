"""How many sessions of PostgreSQL the processes open at most: one for each thread that uses it."""

from collections.abc import Mapping

from django.conf import settings

from gateway import edge
from historical.remote.services.remote_threads import THREADS

# Of a web process, beside its requests: two threads of subscriptions, one for what they missed, and
# one of the stream of fates.
_BESIDE_REQUESTS = 4
# Of each other process: what it does, and what it reports meanwhile.
_OF_OTHERS = 2


def of_web_process() -> int:
    """Those of one web process."""
    archive = THREADS if settings.OLD_FAITHFUL_URL else 0
    return edge.database_sessions() + _BESIDE_REQUESTS + archive


def of_processes(alive: Mapping[str, int]) -> int:
    """Those of so many processes of each kind."""
    each = {"web": of_web_process()}
    return sum(count * each.get(kind, _OF_OTHERS) for kind, count in alive.items())
