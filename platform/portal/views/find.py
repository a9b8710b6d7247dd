"""The portal's search."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from portal.models import Member
from portal.services.find import kinds_of
from portal.views.pages import for_members, page
from staff import find as finding


@for_members
def find(request: HttpRequest, member: Member) -> HttpResponse:
    """`q` among the customer's things: one hit redirects to its page, several are listed by kind.
    With `part` the answer is the list alone, for find.js.
    """
    text = request.GET.get("q", "").strip()
    kinds = kinds_of(member.customer_id)
    found = finding.groups(kinds, text)
    is_part = "part" in request.GET
    only = finding.only_hit(found)
    if only is not None and not is_part:
        return HttpResponseRedirect(only.link)
    context = {"asked": text[: finding.LONGEST], "groups": found, "kinds": kinds}
    return page(request, "find_results.html" if is_part else "portal/find.html", context)
