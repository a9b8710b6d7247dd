"""manage.py renew_tip_batches: after the database was restored from a copy."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from tipping.services import batches


class Command(BaseCommand):
    help = (
        "Closes every open batch of tip addresses and discards the prepared ones. To be run after"
        " the database was restored from a copy, before web processes start: in the copy, addresses"
        " that were issued since it was made count as free. What was issued stays."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        now = timezone.now()
        count = batches.renew_all(now=now)
        while batches.delete_never_issued():
            pass
        self.stdout.write(f"the batches of {count} classes begin anew; workers make new ones")
