"""SlotGap: a range of slots whose blocks are missing, with its status and history."""

from enum import StrEnum

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import BigIntegerRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value

from chain.slot_ranges import SlotRange
from columns.numbers import SlotColumn


class GapStatus(models.TextChoices):
    """`missing`: a block was produced and is not stored; `unknown`: it is not known if one was."""

    MISSING = "missing"
    UNKNOWN = "unknown"


class GapState(StrEnum):
    """`open`: attempts to fill it go on; `given_up`: they do not, no source has its slots any more.
    Both are missing for readers, and not closed.
    """

    OPEN = "open"
    GIVEN_UP = "given_up"
    CLOSED = "closed"


# The rows of each state.
IS_STATE = {
    GapState.OPEN: Q(closed_at__isnull=True, cannot_be_had_at__isnull=True),
    GapState.GIVEN_UP: Q(closed_at__isnull=True, cannot_be_had_at__isnull=False),
    GapState.CLOSED: Q(closed_at__isnull=False),
}


# Vague causes: a more specific one replaces them.
NOT_YET_KNOWN = "not_yet_known"
SOURCE_WITHOUT_ACCOUNTS = "source_without_accounts"
_VAGUE_CAUSES = {NOT_YET_KNOWN: 0, SOURCE_WITHOUT_ACCOUNTS: 1}


def is_more_specific(cause: str, than: str) -> bool:
    """Whether one cause of a gap is more specific than the other."""
    most = len(_VAGUE_CAUSES)
    return _VAGUE_CAUSES.get(cause, most) > _VAGUE_CAUSES.get(than, most)


class SlotGap(models.Model):
    """Slots from `from_slot` to `to_slot`, both included. Open gaps never overlap."""

    from_slot = SlotColumn()
    to_slot = SlotColumn()
    status = models.TextField(choices=GapStatus.choices)
    cause = models.TextField(help_text="stream_lost, follower_down, writes_missing, …")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.TextField(blank=True, help_text="What filled it, or proved it skipped")
    tries = models.IntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True, help_text="Empty: at once")
    # No further attempts are made. It stays open, and is closed when its slots arrive after all.
    cannot_be_had_at = models.DateTimeField(null=True, blank=True)
    cannot_be_had_by = models.TextField(
        blank=True, help_text="What proves it, or who of the staff decided it"
    )
    history = models.JSONField(
        default=list, help_text="[{at, event, source, result}], oldest first"
    )

    class Meta:
        abstract = True
        ordering = ["-from_slot"]
        indexes = [
            models.Index(
                fields=["-from_slot"],
                condition=Q(closed_at__isnull=True),
                name="%(app_label)s_open_gaps",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(from_slot__lte=F("to_slot")),
                name="%(app_label)s_gap_begins_before_it_ends",
            ),
            ExclusionConstraint(
                name="%(app_label)s_open_gaps_never_overlap",
                expressions=[
                    (
                        Func(
                            "from_slot",
                            "to_slot",
                            Value("[]"),
                            function="int8range",
                            output_field=BigIntegerRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    )
                ],
                condition=Q(closed_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        if self.from_slot == self.to_slot:
            return f"{self.status} slot {self.from_slot}"
        return f"{self.status} slots {self.from_slot} to {self.to_slot}"

    @property
    def slots(self) -> SlotRange:
        return SlotRange(self.from_slot, self.to_slot)

    @property
    def state(self) -> GapState:
        """Open, given up or closed."""
        if self.closed_at is not None:
            return GapState.CLOSED
        return GapState.OPEN if self.cannot_be_had_at is None else GapState.GIVEN_UP
