"""Deletes old events."""

from datetime import datetime, timedelta

from alerts import store

# More than a month: monthly events must not be deleted, and published again, within their month.
KEPT = timedelta(days=35)
# Events of rules may be hundreds a second.
KEPT_OF_RULES = timedelta(days=7)
_AT_ONCE = 5_000


def delete_old_events(*, now: datetime) -> int:
    """Deletes events older than KEPT, and those of rules older than KEPT_OF_RULES, with their
    deliveries and attempts. Returns how many.
    """
    count = 0
    for before, of_rules in ((now - KEPT, False), (now - KEPT_OF_RULES, True)):
        found = _AT_ONCE
        while found == _AT_ONCE:
            found = store.delete_events(before, _AT_ONCE, of_rules=of_rules)
            count += found
    store.delete_mailboxes(now - KEPT)
    return count
