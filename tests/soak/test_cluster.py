"""Ledger, archive and ingest on a Citus cluster of a coordinator and two workers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.cluster import citus_programs, cluster, make_database, nodes_of
from tests.engines import Engine

ROOT = Path(__file__).resolve().parent.parent.parent
AREAS = ("tests/rewind", "tests/historical", "tests/ingest")
WORKERS = 2
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def coordinator() -> Iterator[Engine]:
    names = [f"test_tidemark_gw{number}" for number in range(WORKERS)]
    with cluster(citus_programs(), names) as engine:
        yield engine


def test_the_areas_do_the_same_on_a_cluster(coordinator: Engine) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not soak", "-p", "no:cacheprovider"]
    done = run([*command, "--reuse-db", "-n", str(WORKERS), *AREAS], coordinator.url(), "citus")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def test_an_installation_moves_to_a_cluster(coordinator: Engine) -> None:
    """One PostgreSQL with data becomes the coordinator: its tables are spread, with all rows."""
    name = "moving"
    make_database(nodes_of(coordinator), name)
    url = coordinator.url(name)
    migrated = manage(url, "", "migrate", "--verbosity", "0")
    assert migrated.returncode == 0, migrated.stderr
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO rewind_accountsegments (pubkey, run, first_slot, last_slots)"
            " SELECT sha256(n::text::bytea), n % 3, n, ARRAY[n] FROM generate_series(1, 1000) AS n"
        )
    moved = manage(url, "citus", "cluster_spread")
    assert moved.returncode == 0, moved.stderr
    assert "rewind_accountsegments: spread in" in moved.stdout
    again = manage(url, "citus", "cluster_spread")
    assert again.stdout == "Every table is spread.\n"
    status = manage(url, "citus", "cluster_status")
    assert status.returncode == 0, status.stderr
    assert "rewind_accountchange" in status.stdout and "Not spread yet" not in status.stdout
    assert status.stdout.count("127.0.0.1:") == 2
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT count(*), sum(first_slot) FROM rewind_accountsegments"
        ).fetchone()
    assert found == (1_000, 500_500)


def manage(url: str, setting: str, *command: str) -> "subprocess.CompletedProcess[str]":
    return run([sys.executable, "manage.py", *command], url, setting, name="DATABASE_URL")


def run(
    command: list[str], url: str, setting: str, name: str = "TIDEMARK_TEST_DATABASE_URL"
) -> "subprocess.CompletedProcess[str]":
    kept = {key: value for key, value in os.environ.items() if "TIDEMARK" not in key}
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**kept, "ARCHIVE_CLUSTER": setting, name: url},
        capture_output=True,
        text=True,
        check=False,
    )
