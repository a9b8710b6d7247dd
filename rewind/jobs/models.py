"""Simulation jobs and their results."""

from django.db import models
from django.db.models import Q

from columns.packed_data import PackedDataColumn


class SimulationJob(models.Model):
    """Simulations that a customer handed in at once: transactions times positions."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True)
    key_id = models.BigIntegerField(db_index=True, help_text="The API key that handed it in")
    tier = models.TextField()
    client_reference = models.TextField(  # noqa: DJ001  (many jobs have none)
        null=True, help_text="The caller's own name for it: handed in twice it is one job"
    )
    state = models.TextField(choices=State.choices, default=State.QUEUED)
    request = models.JSONField(help_text="The job as it was handed in")
    total = models.IntegerField(help_text="Simulations")
    done = models.IntegerField(default=0)
    failed = models.IntegerField(default=0, help_text="Of those done: answered with an error")
    stored_bytes = models.BigIntegerField(default=0, help_text="Of results, unpacked")
    submitted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, help_text="When its results are deleted")
    failure = models.TextField(blank=True)
    # Incremented when a worker begins a turn (it is odd then), when it ends, and when the worker
    # is found to be gone: a worker's writes count only while the number is the one it took.
    turn = models.IntegerField(default=0)
    due_at = models.DateTimeField(help_text="When its worker counts as gone")
    tries = models.SmallIntegerField(
        default=0, help_text="Workers that were gone since the last result"
    )

    class Meta:
        ordering = ["-submitted_at"]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(state__in=["queued", "running"]),
                name="rewind_open_jobs",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="rewind_finished_jobs",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["key_id", "client_reference"], name="one_job_per_key_and_reference"
            ),
            models.CheckConstraint(
                condition=Q(done__gte=0)
                & Q(done__lte=models.F("total"))
                & Q(failed__lte=models.F("done")),
                name="a_job_has_done_no_more_than_all",
            ),
        ]

    def __str__(self) -> str:
        return f"simulation job {self.id}"


class SimulationResult(models.Model):
    """One answer of a job, in the order of the job."""

    pk = models.CompositePrimaryKey("job_id", "number")
    job = models.ForeignKey(SimulationJob, models.CASCADE, db_index=False)
    number = models.IntegerField(help_text="From 0: the job's transactions, each at each position")
    answer = PackedDataColumn(help_text="JSON: {context, value} or {error}")

    def __str__(self) -> str:
        return f"result {self.number} of job {self.job_id}"
