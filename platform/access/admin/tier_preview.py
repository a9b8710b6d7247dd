"""Asks before a change of tiers is saved that hits keys: whom, and how many of their calls."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from access.models import Tier
from access.services.tier_impact import TierImpact, impact

# The names of the buttons: one shows whom the change hits, one saves it all the same.
PREVIEW, CONFIRMED = "_preview", "_hits_seen"
_MOST = 100


def of_form(admin: Any, request: HttpRequest, object_id: str) -> HttpResponse | None:
    """The page that asks, for the form of one tier; None where it may be saved at once: it was
    confirmed, is invalid, or hits none.
    """
    old = admin.get_object(request, unquote(object_id))
    if CONFIRMED in request.POST or old is None or not admin.has_change_permission(request, old):
        return None
    new = Tier.objects.get(pk=old.pk)
    form = admin.get_form(request, new, change=True)(request.POST, instance=new)
    if not form.is_valid():
        return None
    found = impact(old, form.instance, now=timezone.now())
    if not found.hits and PREVIEW not in request.POST:
        return None
    return _page(admin, request, [found])


def of_list(admin: Any, request: HttpRequest) -> HttpResponse | None:
    """The same for the list, which changes many tiers at once."""
    if CONFIRMED in request.POST or not admin.has_change_permission(request):
        return None
    kind = admin.get_changelist_formset(request)
    formset = kind(request.POST, queryset=Tier.objects.order_by("rank"))
    if not formset.is_valid():
        return None
    now, before = timezone.now(), Tier.objects.in_bulk()
    found = [
        impact(before[form.instance.pk], form.instance, now=now)
        for form in formset.forms
        if form.has_changed() and form.instance.pk in before
    ]
    found = [each for each in found if each.hits]
    return _page(admin, request, found) if found else None


def _page(admin: Any, request: HttpRequest, found: Sequence[TierImpact]) -> HttpResponse:
    left_out = {"csrfmiddlewaretoken", PREVIEW}
    posted = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out
        for value in values
    ]
    context = {
        "title": "Whom this change hits",
        "found": [(each, each.hits[:_MOST]) for each in found],
        "most": _MOST,
        "posted": posted,
        "confirmed": CONFIRMED,
        "back": request.get_full_path(),
    }
    page: HttpResponse = admin.page(request, "admin/access/tier/impact.html", context)
    return page
