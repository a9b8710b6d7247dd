"""The web server's command line, with idle connections kept longer than it lets one ask for."""

import click
from granian.cli import cli

# Its time limit for the head of a request runs while a connection lies idle as well, and its
# command line allows 60 s at most: callers are promised 65.
_LONGEST_MS = 600_000


def main() -> None:
    (option,) = (each for each in cli.params if each.name == "http1_header_read_timeout")
    option.type = click.IntRange(1, _LONGEST_MS)
    cli(auto_envvar_prefix="GRANIAN")


if __name__ == "__main__":
    main()
