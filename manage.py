#!/usr/bin/env python
"""Django's command line, with platform/ on the path so that a bare checkout works."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    sys.path.insert(1, str(ROOT / "platform"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, connection

    from config.environment.env import BadEnvironment
    from config.output.terminal import guard
    from config.version import VERSION
    from embedded.addresses import BadDatabaseUrl

    guard()
    if sys.argv[1:] == ["version"]:
        # Django answers this one with its own version before it looks for commands.
        print(VERSION)
        return
    try:
        execute_from_command_line(sys.argv)
    except (BadEnvironment, BadDatabaseUrl) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except OperationalError as error:
        if connection.connection is not None:
            raise
        sys.exit(f"The database does not answer; does `make run` run? {error}".rstrip())


if __name__ == "__main__":
    main()
