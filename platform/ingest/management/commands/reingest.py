"""manage.py reingest FIRST LAST: fetch slots again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.order_command import add_range, run_order
from ingest.services.orders import STREAM


class Command(BaseCommand):
    help = (
        "Fetch the slots FIRST to LAST again, both included: missing slots are stored, differing"
        " ones are replaced. Account writes come only from the stream's replay."
        " Exits with status 1 if findings need action."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_range(parser)
        parser.add_argument(
            "--source",
            default=STREAM,
            help="stream (its replay; the default), or a node of FILL_RPC_URLS with --ledger-only",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_order(self, "reingest", options["source"], options)
