"""The page that shows a new secret, once."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from access.services import parked_secrets
from portal import store
from portal.models import Member
from portal.views.doors import for_owners, page

_COOKIE = "tidemark_portal_issued"


def hand_over(token: str) -> HttpResponse:
    """Leads to the page, with the token in a cookie of that page alone: an address would stand in
    logs and in the browser's history.
    """
    path = reverse("portal:issued")
    response = HttpResponseRedirect(path)
    response.set_cookie(
        _COOKIE,
        token,
        max_age=parked_secrets.KEEP_SECONDS,
        path=path,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


@for_owners
def issued(request: HttpRequest, member: Member) -> HttpResponse:
    """The secret that the cookie opens; a second visit finds none."""
    token = request.COOKIES.get(_COOKIE, "")
    secrets = parked_secrets.take(token, owner=str(request.user.pk)) if token else []
    found = store.keys_of(member.customer_id).in_bulk([each.key_id for each in secrets])
    context = {
        "member": member,
        "at": "keys",
        "base": f"{request.scheme}://{request.get_host()}",
        "shown": [(found[each.key_id], each.secret) for each in secrets if each.key_id in found],
    }
    response = page(request, "portal/issued.html", context)
    response.delete_cookie(_COOKIE, path=request.path, samesite="Strict")
    return response
