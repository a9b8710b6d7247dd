"""Finding submissions and bundles by signature, bundle id, tip address or request id."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey
from solders.signature import Signature

from priority.fates.errors import FatesUnavailable
from priority.fates.services.lookup import remembered
from priority.fates.store.fates import signatures_beginning
from priority.models import Bundle, Submission
from staff.beginnings import beginning_in
from staff.formatting import ago

_MOST = 50
_BUNDLE_ID = re.compile("[0-9a-f]{64}").fullmatch
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,100}").fullmatch


def bundle_id_in(text: str) -> str | None:
    """The text as a bundle id, in lower case."""
    text = text.strip().lower()
    return text if _BUNDLE_ID(text) else None


def condition(text: str) -> Q | None:
    """The submissions that the text names: by a signature or its beginning, bundle id, tip address
    or request id; None if it is none of them.
    """
    text = text.strip()
    bundle_id = bundle_id_in(text)
    if bundle_id is not None:
        return Q(bundle__in=Bundle.objects.filter(bundle_id=bundle_id).values("pk"))
    try:
        return Q(signature=Signature.from_string(text))
    except ValueError:
        pass
    named = _named(text)
    beginning = beginning_in(text)
    begun = None if beginning is None else signatures_beginning(beginning)
    if named is None or begun is None:
        return begun if named is None else named
    return named | begun


def _named(text: str) -> Q | None:
    try:
        return Q(tip_address=Pubkey.from_string(text))
    except ValueError:
        return Q(request_id=text) & ~Q(request_id="") if _REQUEST_ID(text) else None


def bundle_condition(text: str) -> Q | None:
    """The bundles of an id or its beginning; None if the text is neither."""
    bundle_id = bundle_id_in(text)
    if bundle_id is not None:
        return Q(bundle_id=bundle_id)
    beginning = beginning_in(text)
    bundle = None if beginning is None else beginning.bundle
    if bundle is None:
        return None
    return Q(bundle_id__startswith=bundle.start, bundle_id__endswith=bundle.end)


def found(queryset: QuerySet[Submission], text: str) -> QuerySet[Submission]:
    """The submissions that the text names."""
    named = condition(text)
    return queryset.none() if named is None else queryset.filter(named)


def fate_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """Redirects to the submission, or to the list of several; else a page explains why none was
    found.
    """
    text = request.GET.get("q", "").strip()[:200]
    if text:
        rows = found(Submission.objects.order_by(), text).values_list("pk", flat=True)[:2]
        pks = list(rows)
        if len(pks) == 1:
            return HttpResponseRedirect(reverse("admin:priority_submission_change", args=pks))
        if pks:
            listed = reverse("admin:priority_submission_changelist")
            return HttpResponseRedirect(f"{listed}?{urlencode({'q': text})}")
        bundles = bundle_condition(text)
        if bundles is not None:
            found_bundles = list(Bundle.objects.filter(bundles).order_by()[:2])
            if len(found_bundles) == 1:
                page = reverse("admin:priority_bundle_change", args=[found_bundles[0].pk])
                return HttpResponseRedirect(page)
    context = {
        "title": "Look up a submission",
        "asked": text,
        "waiting": _waiting(text),
        "is_readable": bool(text) and condition(text) is not None,
    }
    response: HttpResponse = admin.page(request, "admin/priority/submission/look_up.html", context)
    return response


def _waiting(text: str) -> SafeString | str:
    """When it was accepted, from Redis, if its row is not written yet."""
    try:
        name = bytes.fromhex(text) if _BUNDLE_ID(text) else bytes(Signature.from_string(text))
        received_at = remembered(name)
    except (ValueError, FatesUnavailable):
        return ""
    if received_at is None:
        return ""
    at = datetime.fromtimestamp(received_at, UTC)
    return ago(at)
