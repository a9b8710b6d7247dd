"""manage.py archive_repair: damaged sealed data of archive and ledger, and how to repair it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from columns.other_database import OtherDatabase, OtherDatabaseUnavailable, opened
from operations.lives import LIVES
from rewind.errors import ArchiveDamaged
from rewind.sealed.services.damage_gaps import WritersBusy
from sealed.damage import Damage
from sealed.life import SealedLife

_HINT = (
    "Repair it from a replica or a restored backup: manage.py archive_repair --from-database URL\n"
    "Where there is none, open its slots as gaps, which are filled as any others:"
    " manage.py archive_repair --as-gap"
)


class Command(BaseCommand):
    help = (
        "List damaged sealed data, and repair it from another database or open its slots as gaps."
        " Exits with status 1 while damage is left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--from-database",
            metavar="URL",
            help="a replica, or a restored backup: copies are taken whose checksums are right",
        )
        way.add_argument(
            "--as-gap",
            action="store_true",
            help="what is damaged leaves, and its slots are gaps until they are filled",
        )
        parser.add_argument(
            "--only",
            action="append",
            metavar="NAME",
            help="of the list, such as archive:3 or ledger:5; for --as-gap every damaged block of"
            " its segment",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        only = options["only"]
        wanted: list[tuple[SealedLife[Any], list[Damage]]] = []
        for life in LIVES:
            damaged = list(life.damages.open())
            wanted.append(
                (life, [each for each in damaged if not only or _name(life, each) in only])
            )
        count = sum(len(damaged) for _, damaged in wanted)
        if only and count < len(set(only)):
            raise CommandError("there is no such damage; without --only all is listed")
        if not count:
            self.stdout.write("no sealed data is known to be damaged")
            return
        with _copy(options["from_database"]) as copy:
            for life, damaged in wanted:
                if options["as_gap"]:
                    self._open_gaps(life, damaged)
                else:
                    self._repair(life, damaged, copy)
        left = sum(life.damages.open().count() for life in LIVES)
        if left and not options["from_database"] and not options["as_gap"]:
            self.stdout.write(_HINT)
        if left:
            raise CommandError(f"{left} damaged: not repaired")

    def _repair(
        self, life: SealedLife[Any], damaged: list[Damage], copy: OtherDatabase | None
    ) -> None:
        for found in damaged:
            source = life.repair(found, copy, timezone.now())
            slots = f"slots {found.first_slot} to {found.last_slot}"
            outcome = f"repaired from {source}" if source else found.reason
            self.stdout.write(f"{_name(life, found)}  {found}, {slots}: {outcome}")

    def _open_gaps(self, life: SealedLife[Any], damaged: list[Damage]) -> None:
        try:
            for line in life.open_as_gaps(damaged, timezone.now()):
                self.stdout.write(line)
        except (ArchiveDamaged, WritersBusy) as error:
            raise CommandError(str(error)) from None


def _name(life: SealedLife[Any], found: Damage) -> str:
    return f"{life.store}:{found.pk}"


@contextmanager
def _copy(url: str | None) -> Iterator[OtherDatabase | None]:
    if url is None:
        yield None
        return
    try:
        with opened(url) as copy:
            yield copy
    except OtherDatabaseUnavailable as error:
        raise CommandError(f"the other database cannot be read: {error}") from None
