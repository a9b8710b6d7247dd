"""Customers as an administrator keeps them."""

from django.db import transaction

from access.errors import ActionRefused
from access.models import ApiKey, Customer


class CustomerHasKeys(ActionRefused):
    """The customer's keys, and their usage, are kept: revoke them instead."""


def save_customer(customer: Customer) -> None:
    """Stores a new or changed customer. Raises ValidationError."""
    customer.full_clean()
    customer.save()


@transaction.atomic
def delete_customer(customer: Customer) -> None:
    """Raises CustomerHasKeys, also where all of them are revoked."""
    Customer.objects.select_for_update().get(pk=customer.pk)
    reason = why_customer_stays(customer)
    if reason is not None:
        raise CustomerHasKeys(reason)
    customer.delete()


def why_customer_stays(customer: Customer) -> str | None:
    """Why the customer cannot be deleted, or None when they can."""
    keys = ApiKey.objects.filter(customer=customer).count()
    if keys:
        noun = "a key" if keys == 1 else f"{keys} keys"
        return f"{customer} has {noun}, whose usage is kept: revoke keys instead of deleting"
    return None
