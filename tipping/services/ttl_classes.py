"""Editing TTL classes."""

from django.db import transaction

from tipping.errors import ClassHasBatches, DefaultClassRequired
from tipping.models import TtlClass
from tipping.store import ttl_classes as store


@transaction.atomic
def save_ttl_class(ttl_class: TtlClass) -> None:
    """Saves the class; a new default replaces the old one. Raises DefaultClassRequired if no class
    would be the default.
    """
    others = store.others(ttl_class).select_for_update()
    if ttl_class.is_default:
        others.filter(is_default=True).update(is_default=False)
    elif not others.filter(is_default=True).exists():
        raise DefaultClassRequired
    ttl_class.save()


def has_other_default(ttl_class: TtlClass) -> bool:
    """Is another class the default?"""
    return store.others(ttl_class).filter(is_default=True).exists()


@transaction.atomic
def delete_ttl_class(ttl_class: TtlClass) -> None:
    """Deletes the class with its prepared batches. Raises DefaultClassRequired for the default
    class, and ClassHasBatches if its addresses were issued: late tips must still be swept.
    """
    if store.locked(ttl_class).is_default:
        raise DefaultClassRequired
    if store.has_opened_batches(ttl_class):
        raise ClassHasBatches(ttl_class.ttl_seconds)
    store.delete_prepared_batches(ttl_class)
    ttl_class.delete()
