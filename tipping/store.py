"""Queries on the ladder."""

from django.db.models import QuerySet

from tipping.models import TtlClass


def others(ttl_class: TtlClass) -> QuerySet[TtlClass]:
    """Every class but this one, which may not be saved yet."""
    return TtlClass.objects.exclude(pk=ttl_class.pk)


def locked(ttl_class: TtlClass) -> TtlClass:
    """The class as it is stored now, kept so until the transaction ends."""
    return TtlClass.objects.select_for_update().get(pk=ttl_class.pk)
