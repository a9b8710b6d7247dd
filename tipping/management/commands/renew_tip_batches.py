"""manage.py renew_tip_batches: run it after the database was restored from a backup."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from tipping.services import batches


class Command(BaseCommand):
    help = (
        "Closes every open batch of tip addresses and discards the prepared ones. Run it after the"
        " database was restored from a backup, before web processes start: in the backup, addresses"
        " that were issued since it was made count as free. Issued addresses are kept."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        now = timezone.now()
        count = batches.renew_all(now=now)
        while batches.delete_never_issued():
            pass
        self.stdout.write(f"renewed the batches of {count} classes; workers make new ones")
