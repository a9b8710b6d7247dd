"""Whether a customer's alerts are mailed."""

from portal import store


def want(customer_id: int, *, wanted: bool) -> bool:
    """Sets it, and returns the value before."""
    customer = store.lock_customer(customer_id)
    before = customer.alert_mails
    if before != wanted:
        customer.alert_mails = wanted
        customer.save(update_fields=["alert_mails"])
    return before
