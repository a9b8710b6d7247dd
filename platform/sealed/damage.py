"""Damage: something sealed that is not what was written, and what became of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db import models
from django.db.models import QuerySet

from columns.numbers import SlotColumn

log = logging.getLogger(__name__)


class Damage(models.Model):
    """A row for each find; what it is in, each area says."""

    class State(models.IntegerChoices):
        DAMAGED = 0, "damaged"
        REPAIRED = 1, "repaired"
        GAP = 2, "opened as a gap"
        GONE = 3, "no longer read"

    first_slot = SlotColumn()
    last_slot = SlotColumn()
    reason = models.TextField()
    found_at = models.DateTimeField()
    state = models.SmallIntegerField(choices=State.choices, default=State.DAMAGED)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.TextField(default="", help_text="The copy that it was repaired from, …")

    class Meta:
        abstract = True
        ordering = ["state", "-found_at", "-id"]


D = TypeVar("D", bound=Damage)


@dataclass(frozen=True, slots=True)
class Damages(Generic[D]):
    """The damage of one store; `order` is that in which it is repaired."""

    model: type[D]
    order: tuple[Any, ...]

    def open(self) -> QuerySet[D]:
        """What is damaged now."""
        return self.model._default_manager.filter(state=Damage.State.DAMAGED).order_by(*self.order)

    def note(
        self, subject: Mapping[str, Any], *, found_by: str, now: datetime, **values: Any
    ) -> D | None:
        """Keeps that the subject, by its columns, is damaged; None if that is known."""
        found, is_new = self.open().get_or_create(
            **subject,
            state=Damage.State.DAMAGED,
            defaults={**values, "found_by": found_by, "found_at": now},
        )
        if not is_new:
            return None
        slots = found.first_slot, found.last_slot
        log.error("sealed data is damaged: %s, slots %d to %d: %s", found, *slots, found.reason)
        return found

    def end(self, found: D, state: Damage.State, by: str, now: datetime) -> None:
        """It is no longer there."""
        self.end_all(self.open().filter(pk=found.pk), state, by, now)

    def end_all(self, found: QuerySet[D], state: Damage.State, by: str, now: datetime) -> None:
        found.update(state=state, ended_by=by, ended_at=now)
