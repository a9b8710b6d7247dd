"""A run directory on a disk that fails."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from embedded.addresses import embedded_addresses
from embedded.passwords import read_or_make
from embedded.servers import start_servers, stop_servers
from embedded.valkey import sync_to_disk
from tests.unwritable_database import failing_disk


def test_a_secret_that_was_made_is_there_after_the_machine_failed() -> None:
    with failing_disk() as disk:
        run_dir = disk.folder / "run"
        assert read_or_make(run_dir, "tip_seed", lambda: "first") == "first"
        disk.fail()
        disk.repair()
        assert read_or_make(run_dir, "tip_seed", lambda: "second") == "first"


@contextmanager
def _valkey(run_dir: Path) -> Iterator[redis.Redis]:
    servers = start_servers(run_dir, postgres=False, syncs=False)
    try:
        with redis.Redis.from_url(embedded_addresses(run_dir).redis_url) as client:
            yield client
    finally:
        stop_servers(servers)


def test_valkey_starts_after_the_machine_failed_while_it_wrote() -> None:
    with failing_disk("64m") as disk:
        run_dir = disk.folder / "run"
        run_dir.mkdir()
        with _valkey(run_dir) as client:
            client.set("synced", "1")
            sync_to_disk(run_dir)
            client.set("lost", "1")
            # Another file's sync brings the new length to the disk, but not what was written.
            with (disk.folder / "other").open("wb") as other:
                other.write(b"1")
                other.flush()
                os.fsync(other.fileno())
            disk.fail()
        disk.repair()
        (appended,) = run_dir.glob("valkey/appendonlydir/*.incr.aof")
        assert appended.read_bytes().endswith(b"\0")
        with _valkey(run_dir) as client:
            assert (client.get("synced"), client.get("lost")) == (b"1", None)
