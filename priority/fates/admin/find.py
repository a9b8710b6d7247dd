"""Submissions and bundles, for the admin's search."""

from collections.abc import Iterator

from django.urls import reverse

from priority.fates.admin.lookup import bundle_condition, condition
from priority.models import Bundle, Submission
from staff.find import MOST, Hit, Kind, add


def _submissions(text: str) -> Iterator[Hit]:
    named = condition(text)
    if named is None:
        return
    for each in Submission.objects.filter(named).order_by()[: MOST + 1]:
        page = reverse("admin:priority_submission_change", args=[each.pk])
        yield Hit(str(each.signature), page, each.state)


def _bundles(text: str) -> Iterator[Hit]:
    named = bundle_condition(text)
    if named is None:
        return
    for each in Bundle.objects.filter(named).order_by()[: MOST + 1]:
        page = reverse("admin:priority_bundle_change", args=[each.pk])
        yield Hit(each.bundle_id, page, each.state)


add(
    Kind(
        "Bundles", "a bundle id or its first 6 characters or more", _bundles, "priority.view_bundle"
    ),
    Kind(
        "Submissions",
        "a signature or its first 6 characters or more, bundle id, tip address or request id",
        _submissions,
        "priority.view_submission",
    ),
)
