"""Which open gaps are to be attempted now."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from columns.raw_queries import MOMENT, exists, microseconds
from gaps.slot_gap import SlotGap

G = TypeVar("G", bound=SlotGap)

# Slots that are only late arrive within this time of themselves.
GRACE = timedelta(seconds=3)
# The parameters are the time, and the time before which a gap that was never attempted was opened.
_IS_DUE = (
    "closed_at IS NULL AND cannot_be_had_at IS NULL"
    " AND (next_try_at <= {0} OR next_try_at IS NULL AND opened_at <= {1})"
)


def due_gaps(model: type[G], *, now: datetime) -> QuerySet[G]:
    """Open gaps whose next attempt is due, newest slots first."""
    is_due = RawSQL(_IS_DUE.format("%s", "%s"), [now, now - GRACE], BooleanField())
    return model._default_manager.filter(is_due).order_by("-from_slot")


def has_due_gap(models: Iterable[type[SlotGap]], *, now: datetime) -> bool:
    """Whether a gap of one of the models is due, in one prepared statement."""
    condition = _IS_DUE.format(MOMENT.format("$1"), MOMENT.format("$2"))
    return exists(
        *(f"SELECT FROM {model._meta.db_table} WHERE {condition}" for model in models),
        parameters=(microseconds(now), microseconds(now - GRACE)),
    )
