"""manage.py verify_range FIRST LAST: check the consistency of stored slots."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.order_command import add_range, run_order


class Command(BaseCommand):
    help = (
        "Check ledger and archive from slot FIRST to LAST, both included: links, hashes, counts,"
        " and the transactions against the account writes. Changes nothing."
        " Exits with status 1 if it found anything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_range(parser)
        parser.add_argument("--node", default="", help="compare with this node of FILL_RPC_URLS")

    def handle(self, *args: Any, **options: Any) -> None:
        run_order(self, "verify", options["node"], options)
