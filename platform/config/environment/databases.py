"""Django's DATABASES entry of DATABASE_URL."""

from pathlib import Path
from typing import Any

from columns.clusters import CITUS
from embedded.addresses import database_settings, is_embedded

# Of a Citus session. One connection to each node sees what its transaction wrote and changed
# there before.
CLUSTER_OPTIONS = {
    CITUS: {
        "citus.max_adaptive_executor_pool_size": "1",
        "citus.multi_shard_modify_mode": "sequential",
    }
}


def database_of(url: str, *, statement_ms: int, lock_ms: int, cluster: str = "") -> dict[str, Any]:
    """The entry, whose statements and locks give up after so many milliseconds. Raises
    BadDatabaseUrl.
    """
    database = database_settings(url)
    database["ENGINE"] = "columns.database"
    database["OPTIONS"] = {
        "application_name": "tidemark",
        "connect_timeout": "5",
        # A machine that is gone sends nothing: by default TCP takes hours to notice.
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "20000",
        **database["OPTIONS"],
        "options": " ".join(
            [
                f"-c statement_timeout={statement_ms}",
                f"-c lock_timeout={lock_ms}",
                *(f"-c {name}={value}" for name, value in CLUSTER_OPTIONS.get(cluster, {}).items()),
                database["OPTIONS"].get("options", ""),
            ]
        ).strip(),
    }
    # A new connection costs 2.3 ms, a query 0.1: each thread keeps its own for ten minutes. A
    # health check would put a round trip before every request; gateway.wsgi looks at the socket.
    database["CONN_MAX_AGE"] = 600
    database["CONN_HEALTH_CHECKS"] = False
    # A cursor of the server outlives its transaction only in one session, and behind a pooler the
    # next statement may meet another one.
    database["DISABLE_SERVER_SIDE_CURSORS"] = True
    return database


def shared_memory(folder: str, url: str, run_dir: Path) -> Path | None:
    """Where processes share memory: the folder, or the run directory with the embedded PostgreSQL,
    or nowhere.
    """
    if folder:
        return Path(folder)
    return run_dir.absolute() if is_embedded(url, run_dir) else None
