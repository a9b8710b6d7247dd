"""Deletes old events."""

from datetime import datetime, timedelta

from alerts import store

# More than a month: monthly events must not be deleted, and published again, within their month.
KEPT = timedelta(days=35)
_AT_ONCE = 5_000


def delete_old_events(*, now: datetime) -> int:
    """Deletes events older than KEPT, with their deliveries and attempts. Returns how many."""
    count, found = 0, _AT_ONCE
    while found == _AT_ONCE:
        found = store.delete_events(now - KEPT, _AT_ONCE)
        count += found
    store.delete_mailboxes(now - KEPT)
    return count
