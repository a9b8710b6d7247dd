"""Whether a customer's alerts are mailed."""

from access.models import Customer


def want(customer_id: int, *, wanted: bool) -> bool:
    """Sets it; what it was before."""
    customer = Customer.objects.select_for_update().get(pk=customer_id)
    before = customer.alert_mails
    if before != wanted:
        customer.alert_mails = wanted
        customer.save(update_fields=["alert_mails"])
    return before
