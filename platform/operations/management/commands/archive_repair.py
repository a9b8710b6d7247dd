"""manage.py archive_repair: damaged sealed data of archive and ledger, and how to repair it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from columns.other_database import OtherDatabase, OtherDatabaseUnavailable, opened
from historical.models import LedgerDamage
from historical.services import index_rebuild
from historical.services import repairing as ledger_repairing
from historical.store import damage as ledger_damage
from rewind.errors import ArchiveDamaged
from rewind.sealed_models import SealedDamage
from rewind.services import damage_gaps, repairing
from rewind.store import damage as archive_damage

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
        archive = [each for each in archive_damage.open_damage() if _is_wanted(each, only)]
        ledger = [each for each in ledger_damage.open_damage() if _is_wanted(each, only)]
        if only and len(archive) + len(ledger) < len(set(only)):
            raise CommandError("there is no such damage; without --only all is listed")
        if not archive and not ledger:
            self.stdout.write("no sealed data is known to be damaged")
            return
        if options["as_gap"]:
            self._open_gaps(archive, ledger)
        else:
            with _copy(options["from_database"]) as copy:
                self._repair(archive, ledger, copy)
        left = len(archive_damage.open_damage()) + ledger_damage.count()
        if left and not options["from_database"] and not options["as_gap"]:
            self.stdout.write(_HINT)
        if left:
            raise CommandError(f"{left} damaged: not repaired")

    def _repair(
        self,
        archive: list[SealedDamage],
        ledger: list[LedgerDamage],
        copy: OtherDatabase | None,
    ) -> None:
        try:
            for each in archive:
                source = repairing.repair_from_here(each, now=timezone.now())
                if not source and copy is not None:
                    source = repairing.repair_from(each, copy, now=timezone.now())
                self._report(each, source)
            for found in ledger:
                source = "itself" if ledger_repairing.is_over(found, now=timezone.now()) else ""
                if not source and copy is not None:
                    repaired = ledger_repairing.repair_from(found, copy, now=timezone.now())
                    source = copy.name if repaired else ""
                if not source and found.kind == LedgerDamage.Kind.INDEX:
                    made = index_rebuild.rebuild(found, now=timezone.now())
                    source = "the sealed blocks that it is about" if made else ""
                self._report(found, source)
        except OtherDatabaseUnavailable as error:
            raise CommandError(f"the other database cannot be read: {error}") from None

    def _report(self, found: SealedDamage | LedgerDamage, source: str) -> None:
        slots = f"slots {found.first_slot} to {found.last_slot}"
        outcome = f"repaired from {source}" if source else found.reason
        self.stdout.write(f"{_name(found)}  {found}, {slots}: {outcome}")

    def _open_gaps(self, archive: list[SealedDamage], ledger: list[LedgerDamage]) -> None:
        for segment in dict.fromkeys(each.segment for each in archive):
            try:
                opened_gap = damage_gaps.open_as_gap(segment, now=timezone.now())
            except (ArchiveDamaged, damage_gaps.WritersBusy) as error:
                raise CommandError(str(error)) from None
            if opened_gap is None:
                continue
            lost = ""
            if opened_gap.loses_snapshots:
                lost = (
                    "; rows of a snapshot, of genesis or from below the window may be among them:"
                    " import a snapshot again"
                )
            self.stdout.write(
                f"segment {segment}: {opened_gap.blocks:,} blocks left, {opened_gap.slots:,} slots"
                f" are gaps now{lost}"
            )
        for found in ledger:
            slots = ledger_repairing.open_as_gap(found, now=timezone.now())
            self.stdout.write(f"{found}: {slots:,} blocks left, their slots are gaps now")


def _name(found: SealedDamage | LedgerDamage) -> str:
    return f"{'archive' if isinstance(found, SealedDamage) else 'ledger'}:{found.pk}"


def _is_wanted(found: SealedDamage | LedgerDamage, only: list[str] | None) -> bool:
    return not only or _name(found) in only


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
