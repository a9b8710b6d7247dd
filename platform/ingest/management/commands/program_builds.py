"""manage.py program_builds: list stored program builds; --remove deletes them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rewind.replay.models import ProgramBuild


class Command(BaseCommand):
    help = "List the stored builds of programs, or remove builds by their numbers."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--remove", type=int, action="append", default=[], metavar="NUMBER")

    def handle(self, *args: Any, **options: Any) -> None:
        unknown = set(options["remove"]) - set(
            ProgramBuild.objects.filter(pk__in=options["remove"]).values_list("pk", flat=True)
        )
        if unknown:
            raise CommandError(f"no such build: {', '.join(map(str, sorted(unknown)))}")
        if options["remove"]:
            ProgramBuild.objects.filter(pk__in=options["remove"]).delete()
            self.stdout.write(f"{len(set(options['remove']))} removed")
            return
        for build in ProgramBuild.objects.defer("code"):
            slots = f"{build.from_slot} to {'now' if build.to_slot is None else build.to_slot}"
            loader = build.get_loader_display()
            digest = bytes(build.digest).hex()
            self.stdout.write(
                f"{build.pk}  {build.program}  {slots}  {loader}  {build.size:,} bytes"
                f"  sha256 {digest}  {build.source}"
            )
