"""Queries on TTL classes."""

from django.db.models import QuerySet

from tipping.models import TipAddress, TipBatch, TtlClass


def others(ttl_class: TtlClass) -> QuerySet[TtlClass]:
    """Every class but this one, which may not be saved yet."""
    return TtlClass.objects.exclude(pk=ttl_class.pk)


def locked(ttl_class: TtlClass) -> TtlClass:
    """The class as it is stored, locked until the transaction ends."""
    return TtlClass.objects.select_for_update().get(pk=ttl_class.pk)


def has_opened_batches(ttl_class: TtlClass) -> bool:
    """Whether a batch of the class was ever open."""
    prepared = TipBatch.State.PREPARED
    return TipBatch.objects.filter(ttl_class=ttl_class).exclude(state=prepared).exists()


def delete_prepared_batches(ttl_class: TtlClass) -> None:
    """Deletes batches that never opened, with their addresses."""
    prepared = TipBatch.objects.filter(ttl_class=ttl_class, state=TipBatch.State.PREPARED)
    TipAddress.objects.filter(batch__in=prepared).delete()
    prepared.delete()
