"""manage.py run: the whole service on this machine, by one command."""

import os
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connections
from django.utils import timezone

from config.environment import env
from config.environment.listening import ports_of_a_run
from config.output.printing import line
from config.running.engine import UnfitDatabase
from config.running.first_run import BadCredentialsFile, Credentials, ensure_credentials
from config.running.ports import PortUnusable, hold_ports
from config.running.preparing import prepare_database
from config.running.supervisor import end_the_left_behind, supervise
from embedded.servers import (
    FAILURES,
    RunDirTaken,
    Servers,
    hold_run_dir,
    keep_servers_synced,
    start_servers,
    stop_servers,
)
from historical.blocks.services.bounds import newest_slot_or_none
from operations.readings.processes import not_needed
from rewind.models import ArchiveState
from tipping.services import batches

# Hosts that stand for every address of the machine: reached, from here, by the loopback one.
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
# A localnet that does not start must not delay the output of the service's addresses.
_LOCALNET_PATIENCE_SECONDS = 20.0
# What of our Procfile reports progress from its start on.
_REPORTING = frozenset(
    ("localnet", "web", "worker", "ingest", "simulations", "follower", "lander", "beat", "grpc")
)
# Off unless a setting wants it: not worth a line.
_OPTIONAL = frozenset(("grpc",))


class Command(BaseCommand):
    """Starts PostgreSQL and Valkey, brings the database up to date, runs the Procfile."""

    help = (
        "Run the whole service: embedded servers (unless DATABASE_URL and REDIS_URL are set), "
        "migrations, demo keys, and every process of the Procfile, until Ctrl-C."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--procfile", type=Path, default=settings.ROOT / "Procfile")

    def handle(self, *_args: Any, procfile: Path, **_options: Any) -> None:
        run_dir: Path = settings.RUN_DIR.absolute()
        os.umask(0o077)  # what this and its processes write is for this account alone
        try:
            _processes()  # read now: what makes no sense is named before anything starts
            with hold_run_dir(run_dir):
                self._run(run_dir, procfile.absolute())
        except (
            *FAILURES,
            RunDirTaken,
            BadCredentialsFile,
            PortUnusable,
            UnfitDatabase,
            env.BadEnvironment,
            _NotThere,
        ) as failure:
            raise CommandError(_in_words(failure, run_dir)) from None
        except KeyboardInterrupt:
            sys.exit(130)  # during the start, before the supervisor listens

    def _run(self, run_dir: Path, procfile: Path) -> None:
        if left := end_the_left_behind(run_dir):
            self._say(f"ended {left} processes that an earlier run left behind")
        host = env.text("HOST", "127.0.0.1")
        port = env.integer("PORT", 8000, minimum=1, maximum=65_535)
        with hold_ports(ports_of_a_run(host, port)):
            self._run_at(host, port, run_dir, procfile)

    def _run_at(self, host: str, port: int, run_dir: Path, procfile: Path) -> None:
        left_out = not_needed()
        for name, why in left_out.items():
            if name not in _OPTIONAL:
                self._say(f"{name} is not started: {why}")
        servers = Servers(run_dir)
        try:
            servers = start_servers(
                run_dir,
                postgres="DATABASE_URL" not in os.environ,
                valkey="REDIS_URL" not in os.environ,
                syncs=False,
            )
            prepared = _prepared(run_dir, _base_url(host, port))
            if settings.LOCALNET and prepared.is_imported:
                # Localnet is there for `/`; its blocks would be two chains in one ledger.
                left_out["follower"] = "the ledger holds imported blocks, localnet is another chain"
                self._say(f"follower is not started: {left_out['follower']}")
            keep_servers_synced(servers)
            supervise(
                procfile,
                environment=_environment(host, port),
                servers=servers,
                on_tick=_greeting(prepared.credentials, host, port, run_dir),
                left_out=left_out.keys(),
                expected=_REPORTING if procfile == settings.ROOT / "Procfile" else frozenset(),
                in_json=_in_json(),
            )
        finally:
            stop_servers(servers)

    def _say(self, text: str) -> None:
        self.stdout.write(line(text, process="run") if _in_json() else text)


def _in_json() -> bool:
    return bool(settings.LOG_FORMAT == "json")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What the database was found to hold; `is_imported`: blocks, of no chain that was followed."""

    credentials: Credentials
    is_imported: bool


class _NotThere(Exception):
    """The database does not answer; the text says why."""


def _prepared(run_dir: Path, base_url: str) -> _Prepared:
    """Brings the database up to date. Raises UnfitDatabase, BadCredentialsFile and _NotThere."""
    try:
        prepare_database()
        is_imported = _ledger_is_imported()
        credentials = ensure_credentials(run_dir, base_url)
        # The first caller already finds tip addresses.
        batches.prepare_batches(seed=settings.TIP_SECRET_SEED, now=timezone.now())
        batches.rotate_due(now=timezone.now())
    except OperationalError as failure:
        raise _NotThere(f"the database does not answer: {failure}".rstrip()) from None
    finally:
        connections.close_all()
    return _Prepared(credentials, is_imported)


def _ledger_is_imported() -> bool:
    """The ledger has blocks, and no chain was ever followed that they could be of."""
    followed = ArchiveState.objects.exclude(filters_set_for="").exists()
    return not followed and newest_slot_or_none() is not None


def _in_words(failure: Exception, run_dir: Path) -> str:
    """The failure's text; for a file of the run directory also what to do."""
    path = str(failure.filename or "") if isinstance(failure, OSError) else ""
    if not isinstance(failure, OSError) or not Path(path).is_relative_to(run_dir):
        return str(failure)
    return (
        f"cannot use the run directory {run_dir}: {failure.strerror} ({path}). Make it writable for"
        " this account, or name another folder by TIDEMARK_RUN_DIR"
    )


def _base_url(host: str, port: int) -> str:
    reached = _EVERY_ADDRESS.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _processes() -> dict[str, str]:
    """How many of each the Procfile's commands start."""
    cores = max(1, min(4, os.cpu_count() or 1))
    return {
        "WEB_WORKERS": str(env.integer("WEB_WORKERS", cores, minimum=1, maximum=64)),
        "WORKER_PROCESSES": str(env.integer("WORKER_PROCESSES", 2, minimum=1, maximum=256)),
        "SIMULATION_PROCESSES": str(env.integer("SIMULATION_PROCESSES", 1, minimum=1, maximum=256)),
    }


def _environment(host: str, port: int) -> dict[str, str]:
    """What the Procfile's commands are started with."""
    programs = str(Path(sys.executable).parent)
    roots = f"{settings.ROOT}{os.pathsep}{settings.ROOT / 'platform'}"
    return {
        "LOG_LEVEL": settings.LOG_LEVEL,
        **os.environ,
        **_processes(),
        "HOST": host,
        "PORT": str(port),
        "TIDEMARK_RUN_DIR": str(settings.RUN_DIR.absolute()),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": roots,
        "CELERY_SKIP_CHECKS": "true",  # they were made once, before any process started
        "PYTHONUNBUFFERED": "1",  # a line appears when it is written
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def _greeting(credentials: Credentials, host: str, port: int, run_dir: Path) -> Callable[[], None]:
    """Says where the service is and how to try it, once, as soon as it listens."""
    said = False
    deadline = 0.0

    def greet() -> None:
        nonlocal said, deadline
        if said or not _listens(_EVERY_ADDRESS.get(host, host), port):
            return
        deadline = deadline or time.monotonic() + _LOCALNET_PATIENCE_SECONDS
        if settings.LOCALNET and not _localnet_listens() and time.monotonic() < deadline:
            return
        said = True
        if _in_json():
            # For a machine's log: where it is, and no secrets.
            text = f"Tidemark listens on {credentials.base_url}; keys and passwords stand in"
            print(line(f"{text} {run_dir / 'credentials.json'}", process="run"), flush=True)
            return
        print("", *_words(credentials, run_dir), "", sep="\n", flush=True)

    return greet


def _words(credentials: Credentials, run_dir: Path) -> Iterator[str]:
    url, login = credentials.base_url, credentials.admin
    key = next((secret for secret in credentials.api_keys.values() if secret), "")
    yield f"  Tidemark listens on {url}"
    yield ""
    yield f"  rpc       {url}/   for wallets and clients; ?api_key=… or an Authorization header"
    yield f"  ledger    {url}/historical"
    yield f"  archive   {url}/rewind"
    yield f"  fates     {url}/priority/fates/stream"
    if settings.LOCALNET:
        rpc = _base_url(settings.LOCALNET_HOST, settings.LOCALNET_RPC_PORT)
        socket_url = _base_url(settings.LOCALNET_HOST, settings.LOCALNET_RPC_PORT + 1)
        yield f"  localnet  {rpc}   WebSocket {socket_url.replace('http', 'ws', 1)}"
    yield f"  admin     {login.url}   {login.username} / {login.password}"
    member = credentials.portal
    if member.password:
        yield f"  portal    {member.url}   {member.email} / {member.password}"
    for tier, secret in credentials.api_keys.items():
        yield f"  {tier:<9} {secret}"
    yield f"  (all of it stands in {run_dir / 'credentials.json'})"
    yield ""
    yield f"  curl -H 'Content-Type: application/json' -H 'Authorization: {key}' \\"
    yield f"""       -d '{{"jsonrpc":"2.0","id":1,"method":"getSlot"}}' {url}/historical"""
    yield ""
    yield "  Ctrl-C stops everything."


def _localnet_listens() -> bool:
    host = settings.LOCALNET_HOST
    return _listens(_EVERY_ADDRESS.get(host, host), settings.LOCALNET_RPC_PORT)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.1).close()
    except OSError:
        return False
    return True
