"""A customer's keys beside each other."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from portal import store
from portal.models import Member
from portal.views.pages import for_members, page
from priority.reports.admin.comparing import chosen, compared, redirected


@for_members
def compare(request: HttpRequest, member: Member) -> HttpResponse:
    """Those of the customer's keys that the URL names."""
    moved = redirected(request)
    if moved is not None:
        return moved
    keys = chosen(request, store.keys_of(member.customer_id))
    context = compared(request, keys, lambda key: reverse("portal:key", args=[key.pk]))
    return page(request, "portal/key_compare.html", context)
