"""manage.py run: the whole service on this machine, by one command."""

import errno
import os
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection, connections

from config import env
from config.first_run import BadCredentialsFile, Credentials, ensure_credentials
from config.supervisor import end_the_left_behind, supervise
from embedded.servers import (
    FAILURES,
    RunDirTaken,
    hold_run_dir,
    start_servers,
    stop_servers,
)

# Hosts that stand for every address of the machine: reached, from here, by the loopback one.
_HOSTS = "an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Command(BaseCommand):
    """Starts PostgreSQL and Valkey, brings the database up to date, runs the Procfile."""

    help = (
        "Run the whole service: embedded servers (unless DATABASE_URL and REDIS_URL are set), "
        "migrations, demo keys, and every process of the Procfile, until Ctrl-C."
    )
    requires_system_checks: list[str] = []  # migrations come first

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--procfile", type=Path, default=settings.ROOT / "Procfile")

    def handle(self, *_args: Any, procfile: Path, **_options: Any) -> None:
        run_dir: Path = settings.RUN_DIR.absolute()
        try:
            _processes()  # read now: what makes no sense is named before anything starts
            with hold_run_dir(run_dir):
                self._run(run_dir, procfile.absolute())
        except (*FAILURES, RunDirTaken, BadCredentialsFile, env.BadEnvironment) as failure:
            raise CommandError(str(failure)) from None
        except OperationalError as failure:
            raise CommandError(f"the database does not answer: {failure}".rstrip()) from None
        except KeyboardInterrupt:
            sys.exit(130)  # during the start, before the supervisor listens

    def _run(self, run_dir: Path, procfile: Path) -> None:
        if left := end_the_left_behind(run_dir):
            self.stdout.write(f"ended {left} processes that an earlier run left behind")
        host = env.text("HOST", "127.0.0.1")
        port = env.integer("PORT", 8000, minimum=1, maximum=65_535)
        _check_port_is_free(host, port)
        servers = start_servers(
            run_dir,
            postgres="DATABASE_URL" not in os.environ,
            valkey="REDIS_URL" not in os.environ,
        )
        try:
            _migrate()
            credentials = ensure_credentials(run_dir, _base_url(host, port))
            connections.close_all()
            supervise(
                procfile,
                environment=_environment(host, port),
                servers=servers,
                on_tick=_greeting(credentials, host, port, run_dir),
            )
        finally:
            stop_servers(servers)


def _check_port_is_free(host: str, port: int) -> None:
    # An address, not a name: the web server resolves none.
    try:
        ip_address(host)
    except ValueError:
        raise CommandError(f"HOST={host!r}: expected {_HOSTS}") from None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, port))
            # A server that shares its port lets others bind it, but not listen on it.
            door.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise CommandError(f"HOST={host!r}: expected {_HOSTS}") from None
            advice = (
                ". Stop what uses it, or choose another:"
                f" PORT={port + 1 if port < 65_535 else 8000} make run"
            )
            raise CommandError(
                f"cannot listen on {host} port {port}: {error.strerror}"
                f"{advice if error.errno == errno.EADDRINUSE else ''}"
            ) from None


def _migrate() -> None:
    """Waits as long as it takes: an index on a large table is no runaway statement."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET lock_timeout = 0")
    call_command("migrate", interactive=False, verbosity=0)


def _base_url(host: str, port: int) -> str:
    reached = _EVERY_ADDRESS.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _processes() -> dict[str, str]:
    """How many of each the Procfile's commands start."""
    cores = max(1, min(4, os.cpu_count() or 1))
    return {
        "WEB_WORKERS": str(env.integer("WEB_WORKERS", cores, minimum=1, maximum=256)),
        "WEB_THREADS": str(env.integer("WEB_THREADS", 16, minimum=1, maximum=1_024)),
        "WORKER_PROCESSES": str(env.integer("WORKER_PROCESSES", 2, minimum=1, maximum=256)),
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
        "PYTHONUNBUFFERED": "1",  # a line appears when it is written
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def _greeting(credentials: Credentials, host: str, port: int, run_dir: Path) -> Callable[[], None]:
    """Says where the service is and how to try it, once, as soon as it listens."""
    said = False

    def greet() -> None:
        nonlocal said
        if said or not _listens(_EVERY_ADDRESS.get(host, host), port):
            return
        said = True
        login = credentials.admin
        key = next((secret for secret in credentials.api_keys.values() if secret), "")
        body = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
        print(
            "",
            f"  Tidemark listens on {credentials.base_url}",
            "",
            f"  admin   {login.url}   {login.username} / {login.password}",
            *(f"  {tier:<7} {secret}" for tier, secret in credentials.api_keys.items()),
            f"  (all of it stands in {run_dir / 'credentials.json'})",
            "",
            f"  curl -H 'Content-Type: application/json' -H 'Authorization: {key}' \\",
            f"       -d '{body}' {credentials.base_url}/historical",
            "",
            "  Ctrl-C stops everything.",
            "",
            sep="\n",
            flush=True,
        )

    return greet


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.1).close()
    except OSError:
        return False
    return True
