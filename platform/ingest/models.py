"""Orders over ranges of slots, their findings, and the identity of the stored chain."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import BigIntegerRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q, Value

from columns.numbers import SlotColumn


class RangeOrder(models.Model):
    """A range of slots to fetch again, to verify without changes, or whose refuted slots are to be
    narrowed down to accounts. The worker processes it in
    steps and saves the counts after each, so that a killed worker loses one step.
    """

    class Kind(models.TextChoices):
        REINGEST = "reingest", "re-ingest"
        VERIFY = "verify", "verification"
        LOCATE = "locate", "refuted-slot search"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    kind = models.TextField(choices=Kind.choices)
    first_slot = SlotColumn()
    last_slot = SlotColumn()
    archive = models.BooleanField(default=True)
    ledger = models.BooleanField(default=True)
    source = models.TextField(
        blank=True, help_text="stream, a node's name, or empty: stored data only"
    )
    state = models.TextField(choices=State.choices, default=State.QUEUED)
    asked_by = models.TextField()
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    next_slot = SlotColumn(help_text="Where the next step begins")
    sound = models.BigIntegerField(default=0, help_text="Slots found correct")
    stored = models.BigIntegerField(
        default=0, help_text="Slots that were missing and are stored now"
    )
    changed = models.BigIntegerField(default=0, help_text="Slots that differed and were replaced")
    findings = models.BigIntegerField(default=0)
    transactions = models.BigIntegerField(
        default=0, help_text="Transactions whose signatures were verified"
    )
    failure = models.TextField(blank=True)
    tries = models.SmallIntegerField(default=0, help_text="Steps that failed since the last one")
    # A running order is claimed until then; afterwards another worker may take it.
    due_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        verbose_name = "range order"
        permissions = [("order_ranges", "Can order re-ingests and verifications of ranges")]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(state__in=["queued", "running"]),
                name="open_range_orders",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(first_slot__lte=F("last_slot")),
                name="a_range_order_begins_before_it_ends",
            ),
            ExclusionConstraint(
                name="one_open_order_at_a_time_per_range",
                expressions=[
                    (
                        Func(
                            "first_slot",
                            "last_slot",
                            Value("[]"),
                            function="int8range",
                            output_field=BigIntegerRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    )
                ],
                condition=Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of slots {self.first_slot} to {self.last_slot}"


class Finding(models.Model):
    """A slot in which an order found a fault."""

    order = models.ForeignKey(RangeOrder, models.CASCADE, related_name="found")
    slot = SlotColumn()
    area = models.TextField(help_text="archive or ledger")
    what = models.TextField(help_text="A key of ingest/findings.py")
    detail = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.what} at slot {self.slot}"


class StoredChain(models.Model):
    """The chain of all data in this database."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    genesis_hash = models.TextField()
    source = models.TextField(help_text="What was stored first: a file or a node")
    claimed_at = models.DateTimeField(db_column="told_at")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="one_chain_in_one_database")
        ]

    def __str__(self) -> str:
        return f"chain {self.genesis_hash}"
