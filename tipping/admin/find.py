"""Tip addresses, for the admin's search."""

from collections.abc import Iterator

from django.urls import reverse

from staff.find import Hit, Kind, add
from staff.parsing import pubkey_in
from tipping.models import TipAddress


def _addresses(text: str) -> Iterator[Hit]:
    pubkey = pubkey_in(text)
    if pubkey is None:
        return
    for each in TipAddress.objects.filter(pubkey=pubkey):
        page = reverse("admin:tipping_tipaddress_change", args=[str(each.pubkey)])
        yield Hit(str(each.pubkey), page)


add(Kind("Tip addresses", "a tip address", _addresses, "tipping.view_tipaddress"))
