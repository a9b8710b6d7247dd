"""Saving and deleting customers."""

from django.db import transaction

from access import store
from access.errors import ActionRefused
from access.models import Customer


class CustomerHasKeys(ActionRefused):
    """The customer's keys and their usage are kept: revoke the keys instead."""


def save_customer(customer: Customer) -> None:
    """Stores a new or changed customer. Raises ValidationError."""
    customer.full_clean()
    customer.save()


@transaction.atomic
def delete_customer(customer: Customer) -> None:
    """Raises CustomerHasKeys, also if all keys are revoked."""
    store.lock_customer(customer)
    reason = why_customer_stays(customer)
    if reason is not None:
        raise CustomerHasKeys(reason)
    customer.delete()


def why_customer_stays(customer: Customer) -> str | None:
    """Why the customer cannot be deleted, or None when they can."""
    keys = store.keys_of_customer(customer.pk).count()
    if keys:
        counted = "a key" if keys == 1 else f"{keys} keys"
        return f"{customer} has {counted}, whose usage is kept: revoke keys instead of deleting"
    return None
