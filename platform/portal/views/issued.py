"""The page that shows a new secret, once."""

from django.http import HttpRequest, HttpResponse

from access import secret_cookies
from access.first_calls import first_calls
from portal import store
from portal.models import Member
from portal.views.pages import for_owners, page


@for_owners
def issued(request: HttpRequest, member: Member) -> HttpResponse:
    secrets = secret_cookies.taken(request)
    found = store.keys_of(member.customer_id).in_bulk([each.key_id for each in secrets])
    base = f"{request.scheme}://{request.get_host()}"
    context = {
        "shown": [
            (found[each.key_id], each.secret, first_calls(base, each.secret))
            for each in secrets
            if each.key_id in found
        ],
    }
    return secret_cookies.forget(request, page(request, "portal/issued.html", context))
