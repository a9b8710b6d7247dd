"""Samples of the service over time, and alarms."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Sample(models.Model):
    """Readings of one moment, or their means over a longer step of time. `values` are figures for
    charts; `totals` are counters, from which rates are taken.
    """

    at = models.DateTimeField(help_text="where its step of time begins")
    resolution = models.PositiveIntegerField(help_text="seconds that it stands for")
    values = models.JSONField(default=dict, help_text="{name: number}; without what was not known")
    totals = models.JSONField(default=dict, help_text="{name: number} since Redis began")

    class Meta:
        ordering: ClassVar = ["-at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["resolution", "at"], name="one_sample_per_step")
        ]

    def __str__(self) -> str:
        return f"{self.resolution} s from {self.at:%Y-%m-%d %H:%M:%S}"


class Alarm(models.Model):
    """A problem for the operator. `opened_at` is empty until the condition has held for the time of
    its rule; once it is over for a while the alarm is closed.
    """

    class Severity(models.TextChoices):
        CRITICAL = "critical"  # callers are refused, or something is being lost
        WARNING = "warning"  # it will come to that

    name = models.CharField("rule", max_length=40)
    subject = models.CharField(max_length=200, blank=True, help_text="what it is about")
    severity = models.CharField(max_length=10, choices=Severity.choices)
    text = models.TextField(help_text="the problem, in words")
    began_at = models.DateTimeField(help_text="when the condition was seen first")
    opened_at = models.DateTimeField(null=True, blank=True)
    well_since = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["name", "subject"],
                condition=Q(closed_at__isnull=True),
                name="one_open_alarm_per_rule_and_subject",
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True) | Q(opened_at__isnull=False),
                name="only_an_opened_alarm_is_closed",
            ),
            models.CheckConstraint(
                condition=Q(opened_at__isnull=True) | Q(opened_at__gte=F("began_at")),
                name="an_alarm_opens_after_it_began",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["closed_at"], condition=Q(closed_at__isnull=False), name="alarms_closed"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.subject}" if self.subject else self.name
