"""Customers and keys, for the admin's search."""

from collections.abc import Iterator

from django.db.models import Q
from django.urls import reverse

from access.find import keys_shown_as
from access.models import ApiKey, Customer
from staff.find import MOST, Hit, Kind, add


def _customers(text: str) -> Iterator[Hit]:
    named = Customer.objects.filter(Q(name__istartswith=text) | Q(email__istartswith=text))
    for each in named.order_by("name")[: MOST + 1]:
        yield Hit(each.name, reverse("admin:access_customer_change", args=[each.pk]), each.email)


def _keys(text: str) -> Iterator[Hit]:
    condition = keys_shown_as(text)
    if condition is None:
        return
    for each in ApiKey.objects.select_related("customer").filter(condition)[: MOST + 1]:
        page = reverse("admin:access_apikey_change", args=[each.pk])
        yield Hit(str(each), page, each.customer.name)


add(
    Kind("Customers", "the beginning of a name or address", _customers, "access.view_customer"),
    Kind("API keys", "the characters that are shown of a key", _keys, "access.view_apikey"),
)
