"""manage.py import_program FILE --program ID --from-slot N: store a build of a program."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from solders.pubkey import Pubkey

from chain.units import I64_MAX
from rewind.errors import BadBuild
from rewind.replay.services.builds import add_build

_LOADERS = {"upgradeable": 3, "final": 2, "deprecated": 1}


class Command(BaseCommand):
    help = (
        "Store a build of a program (an ELF file, as `solana program dump` writes it):"
        " simulations in its slots use it where the archive has no build of that time. Importing"
        " again changes nothing. program_builds lists and removes them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--program", required=True, metavar="ID", help="the program's address")
        parser.add_argument(
            "--from-slot", type=int, required=True, metavar="N", help="the first slot it ran in"
        )
        parser.add_argument(
            "--to-slot", type=int, metavar="M", help="the last one; without it, all that follow"
        )
        parser.add_argument(
            "--loader",
            choices=list(_LOADERS),
            default="upgradeable",
            help="the loader that owns the program; `final` is BPFLoader2, without upgrades",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        for name in ("from_slot", "to_slot"):
            slot = options[name]
            if slot is not None and not 0 <= slot <= I64_MAX:
                raise CommandError(f"--{name.replace('_', '-')} {slot}: no slot")
        try:
            program = Pubkey.from_string(options["program"])
        except ValueError:
            raise CommandError(f"--program {options['program']}: no pubkey") from None
        try:
            build = add_build(
                program,
                path.read_bytes(),
                loader=_LOADERS[options["loader"]],
                from_slot=options["from_slot"],
                to_slot=options["to_slot"],
                source=path.name,
                now=timezone.now(),
            )
        except BadBuild as error:
            raise CommandError(f"{path}: {error}\n  it was not imported") from error
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
        self.stdout.write(f"{build.pk}: {build}, {build.size:,} bytes, {build.source}")
