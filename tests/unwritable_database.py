"""The test's database on a server that answers and takes no writes (read-only, a full disk) or no
sessions.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from embedded.addresses import database_settings, database_url, postgres_folder
from embedded.passwords import server_passwords


@contextmanager
def read_only_database() -> Iterator[None]:
    """Every new session is read-only; that of this thread begins anew."""
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    connection.close()
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
            cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        connection.close()


@contextmanager
def small_disk(size: str = "1m", *, owner: int = 0, mode: str = "755") -> Iterator[Path]:
    """A file system of that size. Skips the test where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-disk-"))
    options = ["-t", "tmpfs", "-o", f"size={size},mode={mode},uid={owner}", "tmpfs"]
    if os.geteuid() or subprocess.run(["mount", *options, folder], check=False).returncode:
        folder.rmdir()
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


class Disk:
    """A disk with a file system that can fail, below `folder`."""

    def __init__(self, image: Path, folder: Path) -> None:
        self._image, self.folder = image, folder

    def mount(self) -> bool:
        command = ["mount", "-o", "loop", self._image, self.folder]
        return not subprocess.run(command, check=False, capture_output=True).returncode

    def fail(self) -> None:
        """Read-only at once, as Linux makes it after an error: what was not synced is lost."""
        command = ["mount", "-o", "remount,abort", self.folder]
        subprocess.run(command, check=True)

    def repair(self) -> None:
        """Mounted again, as after a restart of the machine."""
        subprocess.run(["umount", self.folder], check=True)
        subprocess.run(["fsck.ext4", "-p", self._image], check=False, capture_output=True)
        assert self.mount()


@contextmanager
def failing_disk(size: str = "16m") -> Iterator[Disk]:
    """Skips the test where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-disk-"))
    image, mounted = folder / "image", folder / "mounted"
    mounted.mkdir()
    disk = Disk(image, mounted)
    try:
        subprocess.run(["truncate", "-s", size, image], check=True)
        made = subprocess.run(["mkfs.ext4", "-q", image], check=False, capture_output=True)
        if os.geteuid() or made.returncode or not disk.mount():
            pytest.skip("no file system can be mounted here")
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=False, capture_output=True)
        shutil.rmtree(folder)


@contextmanager
def full_database() -> Iterator[Callable[[], None]]:
    """New tables lie on a disk without room; the function frees it. Skips the test where no file
    system can be mounted, or with a server of someone else's.
    """
    name = connection.settings_dict["NAME"]
    small = f"small_{name}"  # all workers' databases may have one
    run_dir = Path(os.environ["TIDEMARK_RUN_DIR"])
    owner = postgres_folder(run_dir).stat().st_uid
    with superuser(run_dir) as server, small_disk(owner=owner, mode="700") as disk:
        server.execute(f"CREATE TABLESPACE {small} LOCATION '{disk}'")
        server.execute(f"GRANT CREATE ON TABLESPACE {small} TO PUBLIC")
        server.execute(f"ALTER DATABASE {name} SET default_tablespace = {small}")
        filler = disk / "filler"
        filler.write_bytes(bytes(1_000_000))
        connection.close()
        try:
            yield filler.unlink
        finally:
            server.execute(f"ALTER DATABASE {name} RESET default_tablespace")
            connection.close()
            server.execute(f"DROP TABLESPACE {small}")


@contextmanager
def crowded_database() -> Iterator[None]:
    """No new session is admitted, as where others have all connections. Skips the test with a
    server of someone else's.
    """
    name = connection.settings_dict["NAME"]
    with superuser(Path(os.environ["TIDEMARK_RUN_DIR"])) as server:
        server.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
        connection.close()
        try:
            yield
        finally:
            server.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
            connection.close()


def superuser(run_dir: Path) -> psycopg.Connection:
    """Of the embedded server of the run directory. Skips the test with a server of someone else."""
    if not postgres_folder(run_dir).exists():
        pytest.skip("only a superuser may name a disk")
    password = server_passwords(run_dir).superuser
    url = database_url(run_dir, password=password, role="postgres")
    address = database_settings(url)
    return psycopg.connect(
        host=address["HOST"],
        port=address["PORT"],
        dbname="postgres",
        user=address["USER"],
        password=address["PASSWORD"],
        autocommit=True,
    )
