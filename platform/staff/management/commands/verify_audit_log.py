"""verify_audit_log: is the audit log whole, from its first entry to its last?"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from staff.audit_chain import walk


class Command(BaseCommand):
    help = (
        "Walks the audit log from its first entry and tells the first break. The last line is the"
        " log's mark: keep it elsewhere, and --expect it later, to see that nothing up to it was"
        " changed, not even by somebody who could write all digests anew."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--expect", metavar="MARK", help="a mark that was printed before")

    def handle(self, *_: Any, expect: str | None, **__: Any) -> None:
        if expect is not None:
            self._expect(expect)
        looked = walk()
        if looked.problem:
            raise CommandError(f"{looked.problem}. {looked.entries:,} entries before are whole.")
        self.stdout.write(f"The audit log is whole: {looked.entries:,} entries.")
        if looked.entries:
            self.stdout.write(f"{looked.entry_id}:{looked.digest.hex()}")

    def _expect(self, mark: str) -> None:
        number, _, text = mark.partition(":")
        try:
            entry_id, digest = int(number), bytes.fromhex(text)
        except ValueError:
            raise CommandError(f"{mark!r} is no mark: expected NUMBER:DIGEST") from None
        looked = walk(entry_id, digest)
        if looked.problem:
            raise CommandError(f"{looked.problem}.")
