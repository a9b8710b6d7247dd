"""Portal users, for the admin's search."""

from collections.abc import Iterator

from django.urls import reverse

from portal.models import Member
from staff.find import MOST, Hit, Kind, add


def _members(text: str) -> Iterator[Hit]:
    found = Member.objects.select_related("user", "customer").filter(
        user__username__startswith=text.lower()
    )
    for each in found.order_by("pk")[: MOST + 1]:
        page = reverse("admin:portal_member_change", args=[each.pk])
        yield Hit(str(each), page, each.customer.name)


add(Kind("Portal users", "the beginning of a mail address", _members, "portal.view_member"))
