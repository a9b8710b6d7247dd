"""Counts of submissions and attempts, and the steps that have to be counted again."""

from django.db import models
from django.db.models import Q

from access.models import ApiKey
from priority.submissions import STATES, State


class LandingCount(models.Model):
    """How many submissions or attempts of one step of time (`seconds` long, by when they were
    accepted) were of a kind: priority.reports.store.counts says what the measures are.
    """

    seconds = models.PositiveIntegerField()
    start = models.DateTimeField()
    measure = models.CharField(max_length=10)
    tier = models.CharField(max_length=30)
    upstream = models.CharField(max_length=40)
    word = models.CharField(max_length=160)
    number = models.IntegerField()
    count = models.BigIntegerField()
    amount = models.BigIntegerField()

    class Meta:
        db_table = "priority_landingtally"
        default_permissions = ()
        indexes = [models.Index(fields=["seconds", "start"], name="landing_counts_by_step")]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} {self.measure} {self.word}: {self.count}"


class LandingKeyCount(models.Model):
    """How many submissions of one key (null: without one) have come how far, and why no further."""

    seconds = models.PositiveIntegerField()
    start = models.DateTimeField()
    # No constraint: what a deleted key had stays counted.
    key = models.ForeignKey(
        ApiKey,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    tier = models.CharField(max_length=30)
    state = models.CharField(max_length=10, choices=STATES)
    reason = models.CharField(max_length=160)
    count = models.BigIntegerField()
    tips = models.BigIntegerField(
        db_default=0, help_text="lamports of their tips, which were paid if they landed"
    )

    class Meta:
        db_table = "priority_landingkeytally"
        default_permissions = ()
        indexes = [
            models.Index(fields=["seconds", "start"], name="landing_keys_by_step"),
            models.Index(fields=["key", "seconds", "start"], name="landing_keys_by_key"),
            # Who lost most is looked for among all keys.
            models.Index(
                fields=["seconds", "start", "key", "count"],
                condition=Q(state__in=[State.FAILED, State.EXPIRED, State.REFUSED]),
                name="landing_keys_lost",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} key {self.key_id} {self.state}: {self.count}"


class LandingChange(models.Model):
    """A step whose submissions changed for good and has to be counted again. Inserted in the
    transaction of the change, never updated, so that no transaction waits for another.
    """

    start = models.DateTimeField()
    noted_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["start"], name="landing_changes_by_step")]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M}"


class LandingClock(models.Model):
    """One row: until when submissions were counted last."""

    counted_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.counted_at:%Y-%m-%d %H:%M:%S}"
