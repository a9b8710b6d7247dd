"""verify_audit_log: checks the audit log from its first entry to its last."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from staff.audit_chain import walk


class Command(BaseCommand):
    help = (
        "Checks the audit log from its first entry and reports the first break. Prints the log's"
        " mark: keep it elsewhere and pass it to --expect later, to see that nothing before it was"
        " changed, not even by rewriting all digests."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--expect", metavar="MARK", help="a mark that was printed before")

    def handle(self, *_: Any, expect: str | None, **__: Any) -> None:
        if expect is not None:
            self._expect(expect)
        looked = walk()
        if looked.problem:
            raise CommandError(
                f"{looked.problem}. The {looked.entries:,} entries before it are intact."
            )
        self.stdout.write(f"The audit log is intact: {looked.entries:,} entries.")
        if looked.entries:
            self.stdout.write(f"{looked.entry_id}:{looked.digest.hex()}")

    def _expect(self, mark: str) -> None:
        number, _, text = mark.partition(":")
        try:
            entry_id, digest = int(number), bytes.fromhex(text)
        except ValueError:
            raise CommandError(f"{mark!r} is not a mark: expected NUMBER:DIGEST") from None
        looked = walk(entry_id, digest)
        if looked.problem:
            raise CommandError(f"{looked.problem}.")
