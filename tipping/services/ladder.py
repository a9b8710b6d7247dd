"""The ladder of TTL classes."""

from django.db import transaction

from tipping.errors import ClassHasBatches, DefaultClassStays
from tipping.models import TtlClass
from tipping.store import ladder as store


@transaction.atomic
def save_ttl_class(ttl_class: TtlClass) -> None:
    """Saves the class; a new default takes the place of the old one. Raises DefaultClassStays when
    the ladder would be left without one.
    """
    others = store.others(ttl_class).select_for_update()
    if ttl_class.is_default:
        others.filter(is_default=True).update(is_default=False)
    elif not others.filter(is_default=True).exists():
        raise DefaultClassStays
    ttl_class.save()


def has_other_default(ttl_class: TtlClass) -> bool:
    """Is another class the default?"""
    return store.others(ttl_class).filter(is_default=True).exists()


@transaction.atomic
def delete_ttl_class(ttl_class: TtlClass) -> None:
    """Raises DefaultClassStays for the default class, and ClassHasBatches for one whose addresses
    were issued: what they receive must still be swept. Batches that nobody saw go with their class.
    """
    if store.locked(ttl_class).is_default:
        raise DefaultClassStays
    if store.has_opened_batches(ttl_class):
        raise ClassHasBatches(ttl_class.ttl_seconds)
    store.delete_prepared_batches(ttl_class)
    ttl_class.delete()
