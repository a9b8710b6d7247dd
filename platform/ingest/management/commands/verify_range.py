"""manage.py verify_range FIRST LAST: does what is stored hold together?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.order_command import add_range, work_off


class Command(BaseCommand):
    help = (
        "Look whether ledger and archive hold together from slot FIRST to LAST, both included:"
        " links, hashes, counts, and the transactions against the account writes. Changes nothing."
        " Ends with status 1 where it found anything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_range(parser)
        parser.add_argument("--node", default="", help="hold it against this node of FILL_RPC_URLS")

    def handle(self, *args: Any, **options: Any) -> None:
        work_off(self, "verify", options["node"], options)
