"""The admin's search: what a signature, slot, pubkey, key, name or id leads to."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_GET

from staff import find as finding


@require_GET
def find(request: HttpRequest) -> HttpResponse:
    """`q` is looked up: one hit redirects to its page, several are listed by kind. With `part` the
    answer is the list alone, for find.js.
    """
    text = request.GET.get("q", "").strip()
    kinds = finding.kinds_for(request.user)
    found = finding.groups(kinds, text)
    is_part = "part" in request.GET
    only = finding.only_hit(found)
    if only is not None and not is_part:
        return HttpResponseRedirect(only.link)
    context = {"asked": text[: finding.LONGEST], "groups": found, "kinds": kinds}
    if is_part:
        response = render(request, "find_results.html", context)
    else:
        context |= {**admin.site.each_context(request), "title": "Find"}
        response = render(request, "admin/find.html", context)
    add_never_cache_headers(response)
    return response
