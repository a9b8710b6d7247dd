"""manage.py reingest FIRST LAST: slots fetched anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.order_command import add_range, work_off
from ingest.services.orders import STREAM


class Command(BaseCommand):
    help = (
        "Fetch the slots FIRST to LAST anew, both included: what is lacking is stored, what differs"
        " is replaced. The archive's account writes come from the stream's replay alone."
        " Ends with status 1 where something is left to deal with."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_range(parser)
        parser.add_argument(
            "--source",
            default=STREAM,
            help="stream (its replay; the default), or a node of FILL_RPC_URLS with --ledger-only",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        work_off(self, "reingest", options["source"], options)
