"""A backup of a database with everything in it, and an installation made from it."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from embedded.addresses import embedded_addresses
from embedded.servers import hold_run_dir, start_servers, stop_servers
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from tests import forked_commands
from tests.databases import this_database
from tests.historical.sealed_reads import seal as seal_ledger
from tests.rewind.conftest import NOW, committed  # noqa: F401  (a fixture)
from tests.rewind.samples import block, signature, write
from tests.rewind.sealed_forms import move, seal, use_folder

# What a restore itself writes: it tells of itself, and begins the tip batches anew.
_SLOTS = (
    5,
    PARTITION_SLOTS + 5,
    SEGMENT_SLOTS + 5,
    SEGMENT_SLOTS + PARTITION_SLOTS + 5,
    SEGMENT_SLOTS + 2 * PARTITION_SLOTS + 5,
)
_TOUCHED = {"staff_auditentry", "tipping_tipbatch", "tipping_tipaddress", "tipping_tipepoch"}


def manage(run_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "REDIS_URL"}
    }
    return forked_commands.run(
        arguments,
        environment={
            **inherited,
            "TIDEMARK_RUN_DIR": str(run_dir),
            "LOCALNET": "false",
            **environment,
        },
    )


def contents(database_url: str) -> dict[str, tuple[int, str]]:
    """Rows and a digest of each table, whatever the order of its rows."""
    found = {}
    with psycopg.connect(database_url) as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = relnamespace WHERE nspname = 'public' AND relkind = 'r'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(
                f"SELECT md5(t::text) FROM {table} t ORDER BY 1"  # type: ignore[arg-type]
            ).fetchall()
            text = "".join(row[0] for row in rows)
            found[table] = (len(rows), hashlib.sha256(text.encode()).hexdigest())
    return found


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    """The folder of cold storage."""
    return tmp_path / "cold"


@pytest.fixture
def sealed_slots(request: pytest.FixtureRequest, cold: Path) -> None:
    """A merged segment in cold storage, a sealed partition, a partition that is sealed in part,
    and a sealed range of the ledger.
    """
    from historical.recording.services.recording import record_blocks
    from rewind.recording.services.recording import record_slots
    from rewind.sealed.services.sealing import Policy, seal_step
    from rewind.sealed.store import cold_store
    from rewind.sealed.store import sealing as store

    request.getfixturevalue("committed")
    cold.mkdir()
    use_folder(str(cold))
    parent = 0
    for slot in _SLOTS:
        writes = [write(number, signature(slot, 0), lamports=slot) for number in range(40)]
        record_slots([block(slot, parent, writes)], source="stream", now=NOW)
        parent = slot
        if slot == _SLOTS[2]:
            seal(half=True)
            move()
    while store.building() is None:
        assert seal_step(Policy(margin=0), now=NOW)
    cold_store.configure(cold_store.Terms())
    record_blocks([block(slot, slot - 1) for slot in (100, 6_450, 12_900)], now=NOW)
    assert seal_ledger(6_400)


@pytest.fixture
def source_url(transactional_db: None, sealed_slots: None) -> str:
    """The address of this test's database, in which every kind of thing stands."""
    from access.models import Customer, Tier
    from access.services.keys import issue_key
    from staff import audit

    tier, _ = Tier.objects.get_or_create(name="backed up", defaults={"rank": 10})
    for number in range(20):
        issue_key(Customer.objects.create(name=f"Ünï {number}"), tier=tier, name="bot")
    audit.record(None, "tried", text="something")
    return this_database()


@pytest.fixture
def restored(tmp_path: Path, source_url: str, cold: Path) -> Iterator[tuple[Path, Path]]:
    """(the backup's folder, the run directory that was made from it, its servers running), made
    while an object of cold storage was missing.
    """
    made_in, run_dir, folder = tmp_path / "old", tmp_path / "new", tmp_path / "backup"
    made = manage(made_in, "backup", str(folder), DATABASE_URL=source_url)
    assert made.returncode == 0, made.stderr
    first = min(cold.rglob("*.blocks"))
    first.rename(tmp_path / "missing")
    key = ("--key-file", str(made_in / "secret_key"))
    done = manage(run_dir, "restore", str(folder), *key, ARCHIVE_STORE=f"file://{cold}")
    assert done.returncode == 0, done.stderr
    assert re.search(r"restored the backup of [\d-]{10} [\d:]{8} UTC; ", done.stdout)
    assert "1 segment of account writes has objects in cold storage, which are not" in done.stdout
    assert f"1 object missing in ARCHIVE_STORE, such as {first.relative_to(cold)}" in done.stdout
    (tmp_path / "missing").rename(first)
    with hold_run_dir(run_dir):
        servers = start_servers(run_dir, valkey=False)
        yield folder, run_dir
        stop_servers(servers)


def test_an_installation_made_from_a_backup_has_all_of_it(
    tmp_path: Path, source_url: str, cold: Path, restored: tuple[Path, Path]
) -> None:
    folder, run_dir = restored
    before, after = contents(source_url), contents(embedded_addresses(run_dir).database_url)
    assert before["access_apikey"][0] == 20
    assert before["rewind_sealedblock"][0] > before["rewind_sealedsegment"][0] >= 3
    assert before["historical_packedtexts"][0] and before["historical_packedindex"][0]
    assert "rewind_changes_0_35999" not in before
    assert before.keys() == after.keys()
    for table in before.keys() - _TOUCHED:
        assert before[table] == after[table], table
    assert after["tipping_tipepoch"][0] == before["tipping_tipepoch"][0] + 1
    assert after["staff_auditentry"][0] == before["staff_auditentry"][0] + 1
    for name in ("tip_seed", "secret_key"):
        assert (run_dir / name).read_bytes() == (tmp_path / "old" / name).read_bytes()
        assert (run_dir / name).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0

    # Segments, their objects and dictionaries belong together.
    url = embedded_addresses(run_dir).database_url
    store = {"DATABASE_URL": url, "ARCHIVE_STORE": f"file://{cold}"}
    verified = manage(run_dir, "archive_store", "verify", **store)
    assert verified.returncode == 0, verified.stderr
    assert " objects with 80 changes in " in verified.stdout

    # A second one into the same place changes nothing, nor does one while the service runs.
    again = manage(run_dir, "restore", str(folder))
    assert again.returncode != 0 and "is in use by process" in again.stderr
    again = manage(tmp_path / "third", "restore", str(folder), "--unsigned", DATABASE_URL=url)
    assert again.returncode != 0 and "the database is not empty" in again.stderr
    assert contents(url) == after


def test_a_backup_never_writes_over_something(tmp_path: Path, source_url: str) -> None:
    refused = manage(tmp_path / "run", "backup", str(tmp_path), DATABASE_URL=source_url)
    assert refused.returncode != 0 and "is there already" in refused.stderr
