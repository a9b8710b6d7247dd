"""manage.py archive_store: whether cold storage works, what lies there, whether it is whole."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rewind.errors import ArchiveStoreUnavailable
from rewind.sealed.services import archive_store
from upstream.object_store import (
    BadStoreOptions,
    NoSuchStore,
    StoreFault,
    StoreRefuses,
    StoreUnreachable,
)

_ADVICE = {
    StoreRefuses: "The store refuses this: check the credentials and what they permit.",
    NoSuchStore: "Create it, mount it, or correct ARCHIVE_STORE.",
    StoreUnreachable: "Check the host, the port, the network and ARCHIVE_STORE_OPTIONS.",
    BadStoreOptions: "Correct ARCHIVE_STORE or ARCHIVE_STORE_OPTIONS.",
}


class Command(BaseCommand):
    help = (
        "Cold storage: `check` writes, reads and deletes an object; `list` shows the segments that"
        " lie there; `verify` reads every object and compares it with the database."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("check", "list", "verify"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        try:
            {"check": self._check, "list": self._list, "verify": self._verify}[action]()
        except ArchiveStoreUnavailable as fault:
            raise CommandError(fault.message) from None
        except StoreFault as fault:
            advice = _ADVICE.get(type(fault), "")
            raise CommandError(f"Cold storage failed: {fault.reason}. {advice}".rstrip()) from None

    def _check(self) -> None:
        for step in archive_store.check():
            self.stdout.write(f"{step.name} in {step.seconds * 1_000:.1f} ms")
        self.stdout.write("Cold storage works.")

    def _list(self) -> None:
        for each in archive_store.contents():
            segment = each.segment
            state = "whole" if segment.cold_at else f"{segment.cold_buckets} of 256 buckets"
            self.stdout.write(
                f"slots {segment.first_slot} to {segment.last_slot}: {each.objects} objects,"
                f" {each.bytes:,} bytes, {segment.changes:,} changes,"
                f" {segment.get_state_display()}, {state}: {segment.cold_name}"
            )
        for name in archive_store.unknown():
            self.stdout.write(f"of no segment of this database: {name}")

    def _verify(self) -> None:
        objects = changes = size = faults = 0
        for each in archive_store.verify():
            if each.fault:
                faults += 1
                self.stderr.write(f"{each.name}: {each.fault}")
                continue
            objects, changes, size = objects + 1, changes + each.changes, size + each.size
        self.stdout.write(f"{objects} objects with {changes:,} changes in {size:,} bytes are whole")
        if faults:
            raise CommandError(f"{faults} objects are damaged or missing")
