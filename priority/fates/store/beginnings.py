"""Submissions by the beginning of their signature."""

from django.db.models import Q

from staff.beginnings import Beginning


def signatures_beginning(beginning: Beginning) -> Q | None:
    """By ranges of the signature's index; None if no signature begins so."""
    found = None
    for first, last in beginning.signatures:
        within = Q(signature__gte=first, signature__lte=last)
        found = within if found is None else found | within
    return found
