"""A Citus cluster of the tests' own: a coordinator and two workers, over TCP."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from embedded.programs import NoPrograms, wheel_programs
from tests.engines import Engine, postgres, superuser

# Names the folder of a PostgreSQL's programs that has the extension.
VARIABLE = "TIDEMARK_TEST_CITUS"
_SETTINGS = {
    "shared_preload_libraries": "citus",
    "citus.node_conninfo": "sslmode=prefer",
    "max_prepared_transactions": "200",
    "wal_level": "logical",
    "shared_buffers": "64MB",
    "citus.shard_count": "4",
    "citus.enable_statistics_collection": "off",
    "citus.max_background_task_executors": "1",
}


def citus_programs() -> Path:
    """The folder of a PostgreSQL's programs to which Citus is available. Skips the test."""
    named = os.environ.get(VARIABLE)
    if named:
        folder = Path(named)
        assert _has_citus(folder), f"{VARIABLE}={named}: that PostgreSQL has no extension citus"
        return folder
    try:
        found = [wheel_programs().postgres.parent]
    except NoPrograms:
        found = []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in found:
        if _has_citus(folder):
            return folder
    pytest.skip(f"needs a PostgreSQL with the extension citus: {VARIABLE} may name its programs")


def _has_citus(folder: Path) -> bool:
    """What pg_available_extensions would say of it."""
    asked = folder / "pg_config"
    if not asked.exists():
        return False
    said = subprocess.run([asked, "--sharedir"], capture_output=True, text=True, check=True).stdout
    return (Path(said.strip()) / "extension" / "citus.control").exists()


@contextmanager
def cluster(programs: Path, names: list[str]) -> Iterator[Engine]:
    """The coordinator of three nodes on which the databases of these names are a cluster each."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(postgres(programs, **_SETTINGS)) for _ in range(3)]
        for name in names:
            make_database(nodes, name)
        _nodes[nodes[0].port] = nodes
        yield nodes[0]


_nodes: dict[int, list[Engine]] = {}


def nodes_of(coordinator: Engine) -> list[Engine]:
    """All nodes of a cluster, the coordinator first."""
    return _nodes[coordinator.port]


def make_database(nodes: list[Engine], name: str) -> None:
    """The first node is the coordinator."""
    for node in nodes:
        with superuser(node, "postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER tidemark")
        with superuser(node, name) as connection:
            connection.execute("CREATE EXTENSION citus")
    with superuser(nodes[0], name) as connection:
        connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [nodes[0].port])
        for node in nodes[1:]:
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])


def citus_is_used() -> bool:
    """Whether these tests run on a cluster (tests/soak/test_cluster.py)."""
    return os.environ.get("ARCHIVE_CLUSTER") == "citus"


# Of tests that count statements or round trips, which a cluster takes more of.
one_machine = pytest.mark.skipif(
    citus_is_used(), reason="it counts what the form for one machine sends"
)
