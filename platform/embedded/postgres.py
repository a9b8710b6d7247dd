"""PostgreSQL of one run directory."""

import hashlib
import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from embedded.addresses import database_settings, database_url, postgres_folder, postgres_socket
from embedded.foreign_data import other_version, problem_of
from embedded.machine import a_quarter_of_memory_mib
from embedded.owner import Owner, private_folder, stepping_down
from embedded.passwords import Passwords, scram_verifier, server_passwords
from embedded.processes import (
    answers_at,
    end,
    last_line,
    open_log,
    running_in,
    start_server,
    stop_child,
    wait_until,
)
from embedded.programs import Programs

# SIGINT: fast shutdown, which ends sessions and writes a checkpoint; SIGQUIT leaves that to
# recovery at the next start.
STOP_SIGNALS = (signal.SIGINT, signal.SIGQUIT)

# Replaying the log after a crash may take a while on a slow disk; dying is noticed at once.
_START_SECONDS = 300.0

# The only access: a socket, with a password in a file that no other account can read.
_PG_HBA = """\
# Written at every start.
local  all          all  scram-sha-256
local  replication  all  scram-sha-256
"""
# The digest of the superuser's password, in the data folder. The password is set again if the run
# directory has another one, or if the data is older than passwords.
_PASSWORD_SET = "tidemark_password_set"

# A plain "." would be turned into the absolute path, which the account may be unable to enter.
_WORKING_DIRECTORY = "/proc/self/cwd"


class PostgresFailed(Exception):
    """PostgreSQL did not start; the text says why and where its log is."""


def start_postgres(
    run_dir: Path, programs: Programs, owner: Owner | None, *, durable: bool
) -> subprocess.Popen[bytes]:
    """PostgreSQL, ready, with role and database `tidemark`. `durable` False turns fsync off, for
    tests. Ends what a killed starter left behind; raises PostgresFailed.
    """
    folder = postgres_folder(run_dir)
    data = folder / "data"
    if problem := problem_of(folder, owner):
        raise PostgresFailed(problem)
    private_folder(folder, owner)
    _end_the_left_behind(data)
    if not data.exists():
        _create(folder, data, programs, owner, durable=durable)
    elif problem := other_version(data, programs.postgres):
        raise PostgresFailed(problem)
    passwords = server_passwords(run_dir)
    _ask_for_passwords(data, programs, owner, passwords)
    log_path = folder / "postgres.log"
    with open_log(log_path) as log:
        process = start_server(
            [
                programs.postgres,
                "-D",
                _seen_from_inside(data, owner),
                "-k",
                "..",
                *_options(durable),
            ],
            folder=data,
            owner=owner,
            log=log,
            stop_signal=STOP_SIGNALS[0],
            environment=_environment(),
        )
    try:
        ready = wait_until(lambda: _answers(run_dir, passwords), process, seconds=_START_SECONDS)
        if not ready:
            raise PostgresFailed(f"PostgreSQL did not start: {last_line(log_path)} ({log_path})")
        _create_role_and_database(run_dir, passwords)
    except BaseException:
        stop_child(process, *STOP_SIGNALS)
        raise
    return process


def _create(
    folder: Path, data: Path, programs: Programs, owner: Owner | None, *, durable: bool
) -> None:
    """A new cluster, whole or not at all: made under another name first."""
    draft = folder / "data.new"
    if draft.exists():
        shutil.rmtree(draft)
    private_folder(draft, owner)
    command = [
        str(programs.initdb),
        f"--pgdata={_seen_from_inside(draft, owner)}",
        "--username=postgres",
        "--auth-local=peer",  # replaced before the first start
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale-provider=builtin",  # the same order of texts on every machine
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-instructions",
    ]
    if not durable:
        command.append("--no-sync")
    answer = subprocess.run(
        command,
        cwd=draft,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
        **stepping_down(owner),
    )
    if answer.returncode != 0:
        raise PostgresFailed(f"initdb failed in {draft}: {answer.stderr.strip()}")
    draft.rename(data)


def _seen_from_inside(data: Path, owner: Owner | None) -> str:
    return str(data.absolute()) if owner is None else _WORKING_DIRECTORY


def _options(durable: bool) -> list[str]:
    options = {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        # What is dropped or truncated is looked for in all of them, and tests do it all the time.
        "shared_buffers": f"{a_quarter_of_memory_mib() if durable else 128}MB",
        "max_connections": "200",
        "max_wal_size": "4GB" if durable else "128MB",
        # A query may touch many partitions. The table of locks is laid out at the start, for all
        # connections: 1024 would take 54 MB.
        "max_locks_per_transaction": "256",
        "max_pred_locks_per_transaction": "10",  # no transaction is serializable
        "jit": "off",  # it costs more than it saves in queries of milliseconds
        "synchronous_commit": "off",  # the last 0.6 s may be lost in a crash; the chain is re-read
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %a ",
        "fsync": "on" if durable else "off",
        "full_page_writes": "on" if durable else "off",
    }
    return [part for name, value in options.items() for part in ("-c", f"{name}={value}")]


def _environment() -> dict[str, str]:
    # Nothing of ours: a PGDATA or PGPORT of the user's would speak to the server too.
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _ask_for_passwords(
    data: Path, programs: Programs, owner: Owner | None, passwords: Passwords
) -> None:
    """Sets the superuser's password while no client can connect, and then requires it. Upgrades
    data of versions that trusted every process.
    """
    _write_for(owner, data / "pg_hba.conf", _PG_HBA)
    digest = hashlib.sha256(passwords.superuser.encode()).hexdigest()
    kept = data / _PASSWORD_SET
    if kept.exists() and kept.read_text() == digest:
        return
    # One user, no socket: the server reads statements, a line each, from its standard input.
    answer = subprocess.run(
        [programs.postgres, "--single", "-D", _seen_from_inside(data, owner), "-j", "postgres"],
        cwd=data,
        env=_environment(),
        input=f"ALTER ROLE postgres PASSWORD '{scram_verifier(passwords.superuser)}';\n\n",
        capture_output=True,
        text=True,
        check=False,
        **stepping_down(owner),
    )
    if answer.returncode != 0 or "ERROR:" in answer.stderr:
        lines = answer.stderr.strip().splitlines()
        raise PostgresFailed(f"PostgreSQL took no password in {data}: {(lines or ['?'])[-1]}")
    _write_for(owner, kept, digest)


def _write_for(owner: Owner | None, path: Path, text: str) -> None:
    """The file, whole or not at all, of mode 600. A link that the account put there is replaced."""
    if path.exists() and not path.is_symlink() and path.read_text() == text:
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        if owner is not None:
            os.chown(file.fileno(), owner.uid, owner.gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _connect(run_dir: Path, passwords: Passwords) -> psycopg.Connection:
    url = database_url(run_dir, password=passwords.superuser, role="postgres")
    address = database_settings(url)
    return psycopg.connect(
        host=address["HOST"],
        port=address["PORT"],
        dbname="postgres",
        user=address["USER"],
        password=address["PASSWORD"],
        connect_timeout=5,
        autocommit=True,
        options="-c statement_timeout=0",
    )


def _answers(run_dir: Path, passwords: Passwords) -> bool:
    try:
        _connect(run_dir, passwords).close()
    except psycopg.OperationalError:
        return False
    return True


# int32 length and the code of an SSLRequest, to which a new session's process answers one byte.
_SSL_REQUEST = struct.pack("!ii", 8, 80_877_103)


def postgres_answers(run_dir: Path) -> bool:
    """Whether it begins a new session within 2 s: without a password, which would cost both sides
    milliseconds each second. A refusal (it recovers, all sessions are taken) is an answer.
    """
    return answers_at(postgres_socket(run_dir), _SSL_REQUEST)


def _create_role_and_database(run_dir: Path, passwords: Passwords) -> None:
    """At every start, since the first may have been cut short. The role is no superuser; it may
    create databases, for the tests.
    """
    name = sql.Identifier("tidemark")
    verifier = scram_verifier(passwords.database)
    with _connect(run_dir, passwords) as connection:
        found = connection.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname = 'tidemark'"
        ).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(name))
        if found is None or found[0] != verifier:
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(name, sql.Literal(verifier)))
        if not connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = 'tidemark'"
        ).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(name))


def _end_the_left_behind(data: Path) -> None:
    """A server whose starter was killed still holds the data; one that was killed left two lock
    files whose number another process may have by now, which PostgreSQL would take for itself.
    """
    end(running_in(data, "postgres"), *STOP_SIGNALS)
    (data / "postmaster.pid").unlink(missing_ok=True)
    for left in data.parent.glob(".s.PGSQL.*"):  # and the socket's own lock file
        left.unlink()
