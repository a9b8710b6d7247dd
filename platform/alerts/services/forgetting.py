"""What is told is forgotten after a while."""

from datetime import datetime, timedelta

from alerts import store

# A month and some days: what is told once a month must not be forgotten, and told again, within it.
KEPT = timedelta(days=35)
_AT_ONCE = 5_000


def forget(*, now: datetime) -> int:
    """Deletes events older than KEPT, with their deliveries and tries; how many events."""
    count, found = 0, _AT_ONCE
    while found == _AT_ONCE:
        found = store.delete_events(now - KEPT, _AT_ONCE)
        count += found
    store.delete_mailboxes(now - KEPT)
    return count
